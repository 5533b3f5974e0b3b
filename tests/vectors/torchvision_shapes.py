"""Makes torchvision-shapes.json: of each of torchvision's networks without its classification layer, the number of
parameters, and a hash of the names and shapes of all its tensors. Values are never made, so that large networks are no more
work than small ones. Run: python3 tests/vectors/torchvision_shapes.py
"""

import hashlib
import json
import pathlib

import torch
import torchvision

# By the names of the last layer, which is not part of the features. ConvNeXt's norm before it is.
HEADS = {
    "resnet": "fc.",
    "mobilenet": "classifier.",
    "efficientnet": "classifier.",
    "regnet": "fc.",
    "convnext": "classifier.2.",
}
NAMES = [
    *(f"resnet{depth}" for depth in (18, 34, 50, 101, 152)),
    "mobilenet_v2",
    *(f"efficientnet_b{size}" for size in range(5)),
    *(f"regnet_y_{size}" for size in ("400mf", "800mf", "1_6gf", "3_2gf", "8gf", "16gf", "32gf")),
    *(f"convnext_{size}" for size in ("tiny", "small", "base")),
]

# Parameters are drawn at random when a network is made, which takes long for the large ones, and is of no use here.
for name in ("kaiming_normal_", "normal_", "trunc_normal_", "uniform_", "kaiming_uniform_"):
    setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)

found = {}
for name in NAMES:
    network = getattr(torchvision.models, name)()
    head = next(prefix for family, prefix in HEADS.items() if name.startswith(family))
    state = {key: value for key, value in network.state_dict().items() if not key.startswith(head)}
    lines = sorted(f"{key} {list(value.shape)}" for key, value in state.items())
    parameters = sum(value.numel() for key, value in network.named_parameters() if not key.startswith(head))
    found[name] = {
        "tensors": len(state),
        "parameters": parameters,
        "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }
    print(name, found[name])

path = pathlib.Path(__file__).with_name("torchvision-shapes.json")
path.write_text(json.dumps({"torchvision": torchvision.__version__, "networks": found}, indent=2) + "\n")
