# SPDX-License-Identifier: MIT
# Sourced: makes folders true/ and false/ (do_lower_case) with the vocabulary of
# bert-base-chinese, and plain/ that has no tokenizer_config.json.
for name in true false plain; do
    mkdir "$name"
    cp "$ROOT/data/vocab/bert-base-chinese-vocab.txt" "$name/vocab.txt"
    cat >"$name/config.json" <<'END'
{"model_type": "bert", "vocab_size": 21128, "hidden_size": 32, "num_hidden_layers": 1,
 "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64,
 "type_vocab_size": 2, "hidden_act": "gelu"}
END
done
echo '{"do_lower_case": true}' >true/tokenizer_config.json
echo '{"do_lower_case": false}' >false/tokenizer_config.json
