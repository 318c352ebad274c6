# SPDX-License-Identifier: MIT
"""Turns the safetensors file of a folder into pytorch_model.bin as torch.save writes it: a
zip of one pickle and a file a storage. Standard library only."""
import io
import json
import os
import pickle
import sys
import types
import zipfile
from collections import OrderedDict

torch, utils = types.ModuleType('torch'), types.ModuleType('torch._utils')


class FloatStorage:
    pass


def _rebuild_tensor_v2():
    pass


for thing, module in ((FloatStorage, torch), (_rebuild_tensor_v2, utils)):
    thing.__module__ = module.__name__
    setattr(module, thing.__name__, thing)


class Tensor:
    def __init__(self, key, shape):
        self.storage, self.shape, strides, size = types.SimpleNamespace(), tuple(shape), [], 1
        for n in reversed(shape):
            strides.insert(0, size)
            size *= n
        self.storage.key, self.storage.size, self.strides = key, size, tuple(strides)

    def __reduce__(self):
        return _rebuild_tensor_v2, (self.storage, 0, self.shape, self.strides, False,
                                    OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, types.SimpleNamespace):
            return 'storage', FloatStorage, obj.key, 'cpu', obj.size
        return None


def convert(folder):
    """Writes pytorch_model.bin; leaves nothing but it and config.json."""
    with open(os.path.join(folder, 'model.safetensors'), 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        data = file.read()
    state = OrderedDict((name, Tensor(str(i), tensor['shape']))
                        for i, (name, tensor) in enumerate(header.items()))
    sys.modules.update({'torch': torch, 'torch._utils': utils})
    try:
        script = io.BytesIO()
        Pickler(script, 2).dump(state)
    finally:
        del sys.modules['torch'], sys.modules['torch._utils']
    with zipfile.ZipFile(os.path.join(folder, 'pytorch_model.bin'), 'w') as out:
        out.writestr('pytorch_model/data.pkl', script.getvalue())
        for name, tensor in header.items():
            begin, end = tensor['data_offsets']
            out.writestr(f'pytorch_model/data/{state[name].storage.key}', data[begin:end])
        out.writestr('pytorch_model/version', '3\n')
    for name in os.listdir(folder):
        if name not in ('pytorch_model.bin', 'config.json'):
            os.remove(os.path.join(folder, name))
