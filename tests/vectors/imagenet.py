"""Makes imagenet.safetensors: torchvision's MobileNetV2 features of two synthetic pictures, with the ImageNet weights of
../shared/pretrained beside the repository. Run: python3 tests/vectors/imagenet.py
"""

import json
import pathlib
import struct

import numpy
import torch
import torchvision

from safetensors_writer import save

here = pathlib.Path(__file__).resolve()
raw = (here.parents[3] / "shared/pretrained/mobilenet_v2-imagenet.safetensors").read_bytes()
(length,) = struct.unpack("<Q", raw[:8])
header = json.loads(raw[8 : 8 + length])
header.pop("__metadata__")
state = {}
for name, entry in header.items():
    begin, end = entry["data_offsets"]
    values = numpy.frombuffer(raw[8 + length + begin : 8 + length + end], dtype="<f4")
    state[name] = torch.from_numpy(values.copy()).reshape(entry["shape"])

network = torchvision.models.mobilenet_v2()
missing, unexpected = network.load_state_dict(state, strict=False)
assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
network.classifier = torch.nn.Identity()

# Squares of several sizes and colours: a picture that both languages make of whole numbers (tests/support/picture.ts).
n, c, y, x = torch.meshgrid(*(torch.arange(size) for size in (2, 3, 224, 224)), indexing="ij")
squares = ((x // (8 + 8 * n)) * (3 + c) + (y // 16) * (5 + 2 * n) + 7 * c) % 23
pictures = squares.float() / 11 - 1

with torch.no_grad():
    features = network.eval()(pictures)
save(here.with_suffix(".safetensors"), {"features": features}, {"torchvision": torchvision.__version__})
print(features.shape, features.mean().item(), features.max().item())
