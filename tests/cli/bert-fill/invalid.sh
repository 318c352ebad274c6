# SPDX-License-Identifier: MIT
# Invalid UTF-8, NUL bytes (data), an empty line, a line of 10 MB.
tiny=$ROOT/tests/golden/tiny/f32
{
    printf '\377真[MASK]\n真\000[MASK]\n\n'
    head -c 10485760 /dev/zero | tr '\0' a
    printf '[MASK]\n'
} | bert-fill -m "$tiny" -k 1 | cut -c1-60
