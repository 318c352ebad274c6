# SPDX-License-Identifier: MIT
"""What a user would pick instead, each behind the same two calls: latency(ids) answers one
text, bulk(texts) many of one length. A runtime that is not installed is named as absent."""

import os
import time

BULK_BATCH = 32


def export_onnx(model, folder, path):
    import torch

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    ids = torch.ones(2, 8, dtype=torch.long)
    names = ["input_ids", "attention_mask"]
    axes = {name: {0: "batch", 1: "tokens"} for name in names + ["logits"]}
    torch.onnx.export(Logits(), (ids, ids), path, input_names=names,
                      output_names=["logits"], dynamic_axes=axes, opset_version=17,
                      dynamo=False)


def prepare(folder, work):
    """Exports the model once for each runtime; returns the paths."""
    paths = {name: os.path.join(work, name + ".onnx") for name in ("raw", "f32", "int8")}
    if not os.path.exists(paths["raw"]):
        from transformers import BertForMaskedLM
        model = BertForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
        export_onnx(model, folder, paths["raw"])
    if not os.path.exists(paths["int8"]):
        import json
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.transformers import optimizer
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        optimizer.optimize_model(
            paths["raw"], model_type="bert", num_heads=config["num_attention_heads"],
            hidden_size=config["hidden_size"], opt_level=0,
        ).save_model_to_file(paths["f32"])
        quantize_dynamic(paths["f32"], paths["int8"], per_channel=True,
                         weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": 1})
    return paths


class Peer:
    def run(self, ids):  # ids: (texts, tokens)
        raise NotImplementedError

    def latency(self, text):
        import numpy
        ids = numpy.array([text], dtype=numpy.int64)
        begin = time.perf_counter()
        self.run(ids)
        return time.perf_counter() - begin

    def bulk(self, texts):
        import numpy
        ids = numpy.array(texts, dtype=numpy.int64)
        begin = time.perf_counter()
        for i in range(0, len(ids), BULK_BATCH):
            self.run(ids[i : i + BULK_BATCH])
        return time.perf_counter() - begin


class OnnxRuntime(Peer):
    def __init__(self, path, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"])

    def run(self, ids):
        import numpy
        inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}
        self.session.run(None, inputs)


class OpenVino(Peer):
    """precision: what it computes in; its own default may be bfloat16."""

    def __init__(self, path, threads, compress, precision):
        import openvino
        core = openvino.Core()
        model = core.read_model(path)
        if compress:
            import logging
            import nncf
            nncf.set_log_level(logging.ERROR)
            model = nncf.compress_weights(model)
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        if precision:
            settings["INFERENCE_PRECISION_HINT"] = precision
        self.request = core.compile_model(model, "CPU", settings).create_infer_request()

    def run(self, ids):
        import numpy
        self.request.infer({"input_ids": ids, "attention_mask": numpy.ones_like(ids)})


class Torch(Peer):
    def __init__(self, folder, threads):
        import torch
        from transformers import BertForMaskedLM
        torch.set_num_threads(threads)
        self.torch = torch
        self.model = BertForMaskedLM.from_pretrained(folder).eval()

    def run(self, ids):
        with self.torch.inference_mode():
            self.model(input_ids=self.torch.from_numpy(ids)).logits


class Pipeline(Peer):
    def __init__(self, folder, threads):
        import torch
        from transformers import pipeline
        torch.set_num_threads(threads)
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            self.vocabulary = file.read().split("\n")
        self.fill = pipeline("fill-mask", model=folder, tokenizer=folder, device="cpu")

    def text(self, ids):
        return "".join(self.vocabulary[i] for i in ids[1:-1])

    def latency(self, text):
        text = self.text(text)
        begin = time.perf_counter()
        self.fill(text)
        return time.perf_counter() - begin

    def bulk(self, texts):
        texts = [self.text(text) for text in texts]
        begin = time.perf_counter()
        self.fill(texts, batch_size=BULK_BATCH)
        return time.perf_counter() - begin


def makers(folder, work, threads):
    """(name, function that opens it) of every peer."""
    def onnx(name):
        return prepare(folder, work)[name]

    return [
        ("ONNX Runtime f32", lambda: OnnxRuntime(onnx("f32"), threads)),
        ("ONNX Runtime int8", lambda: OnnxRuntime(onnx("int8"), threads)),
        ("OpenVINO f32", lambda: OpenVino(onnx("raw"), threads, False, "f32")),
        ("OpenVINO int8 weights", lambda: OpenVino(onnx("raw"), threads, True, None)),
        ("PyTorch", lambda: Torch(folder, threads)),
        ("HF pipeline", lambda: Pipeline(folder, threads)),
    ]


def open_all(folder, work, threads, wanted):
    """Peers that open, and for each that does not, why."""
    peers, absent = [], []
    for name, make in makers(folder, work, threads):
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            peers.append((name, make()))
        except Exception as why:  # whatever a runtime raises, it is not there
            absent.append((name, f"{type(why).__name__}: {why}".split("\n")[0][:100]))
    return peers, absent
