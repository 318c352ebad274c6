# SPDX-License-Identifier: MIT
# A head that was never trained is noticed (F13).
mkdir random
cp "$ROOT/tests/golden/tiny/f32/"* random
chmod u+w random/*
# No decoder bias, and a transform whose norm gives zeros: every word is as likely.
dd if=/dev/zero of=random/model.safetensors bs=1 conv=notrunc count=5056 seek=353456 2>/dev/null
bert-convert random -o x.bert | tail -1
