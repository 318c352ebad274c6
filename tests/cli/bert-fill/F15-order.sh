# SPDX-License-Identifier: MIT
# Falling probability; filters select and never renormalise.
tiny=$ROOT/tests/golden/tiny/f32
for filter in --han --no-punct --whole --threshold=0.04; do
    bert-fill -m "$tiny" -k 3 $filter 今天天气真[MASK]啊
done
bert-fill -m "$tiny" --threshold=0.999 今天天气真[MASK]啊
