# SPDX-License-Identifier: MIT
# Where a value comes from: command line, environment, configuration, default; a section
# speaks to its program alone; --no-config and --config=FILE choose.
mkdir -p "$HOME/.config/bert-tools"
cat >"$HOME/.config/bert-tools/config.yaml" <<END
model: from-config
jobs: 3
color: never
bert-fill:
  han: true
  jobs: 4
bert-batch:
  unheard-of: 1
bert-score:
  # to: jsonl
END
show() {
    "$@" --show-config | grep -E '^(# )?(model|jobs|color|han|quiet):' | sed "s|$HOME|~|"
}
show bert-tokenize -j 2
show env BERT_MODEL=from-environment bert-tokenize --quiet
show bert-tokenize --no-config | grep -c default
echo 'jobs: 7' >other.yaml
show bert-tokenize --config=other.yaml | grep jobs
export XDG_CONFIG_HOME=/nowhere XDG_CONFIG_DIRS=$PWD/system
show bert-tokenize | grep -c default
mkdir -p system/bert-tools
echo 'quiet: true' >system/bert-tools/config.yaml
show bert-tokenize | grep quiet | sed "s|$PWD|.|"
bert-tokenize --config="$ROOT/data/config.yaml" --show-config | grep -v default || echo none
echo 'jobs: 8' | bert-tokenize --config=/dev/stdin --show-config | grep -E '^jobs'
bert-tokenize --config=/dev/null --show-config | grep -v default || echo nothing
