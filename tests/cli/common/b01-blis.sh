# SPDX-License-Identifier: MIT
# B01 B02 B03 B04 B07: BLIS gets the kernels that suit this machine although it knows new
# ones only as generic; a choice of the user's stands; it runs on our threads, whatever
# variables ask; and a table that the machine lacks is never forced.
tiny=$ROOT/tests/golden/tiny/f32
line=$(bert-fill -Vv | sed -n 3p)
case $line in *' blis '*) ;; *) echo "no BLIS here" >&2; exit 77 ;; esac
family=$(bert-fill -Vv | sed -n 's/^BLIS: //p')
case $line in
*avx512*) [ "$family" = skx ] ;;
*avx2*) [ "$family" = haswell ] ;;
*) [ -n "$family" ] ;;
esac || echo "BLIS uses $family on $line"
[ "$(BLIS_ARCH_TYPE=5 bert-fill -Vv | sed -n 's/^BLIS: //p')" != "$family" ] ||
    echo "BLIS_ARCH_TYPE is not obeyed"
fill() { BERT_CPU=blis "$@" bert-fill -m "$tiny" '今天[MASK]气[MASK]好'; }
fill env >want
fill env BLIS_NUM_THREADS=8 OMP_NUM_THREADS=8 >threads && cmp want threads
! command -v taskset >/dev/null || fill taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" >core && cmp want core
for table in reference blis avx2 avxvnni avx512 avx512vnni amx neon neondot; do
    status=0
    BERT_CPU=$table bert-fill -m "$tiny" -k 1 '今天[MASK]' >out 2>said || status=$?
    case "$line)" in
    *[\ :]"$table"[\ \)]*) [ "$status" -eq 0 ] ;;
    *) [ "$status" -eq 2 ] && grep -q "'$table' is no kernel of this machine" said ;;
    esac || echo "$table: exit status $status on $line"
done
