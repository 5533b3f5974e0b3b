"""Makes nuclear-norm.safetensors: the nuclear norm by torch.svd and what its backward pass leaves in the weights before it.

Features are x·wᵀ of a linear map without bias; float64, so that other routes can be held to it. The inputs are stored too:
formula.py's are of low rank, where a gradient is a matter of choice.
Run: python3 tests/vectors/nuclear_norm.py
"""

import pathlib

import torch

from safetensors_writer import save

# rows, inputs, width of the features: wide, tall, square, one row
SHAPES = {"wide": (6, 9, 20), "tall": (24, 9, 5), "square": (8, 10, 8), "one-row": (1, 4, 7)}

torch.manual_seed(0)
stored = {}
for case, (rows, inputs, width) in SHAPES.items():
    x = torch.randn(rows, inputs, dtype=torch.float64)
    w = torch.randn(width, inputs, dtype=torch.float64, requires_grad=True)
    stored[f"{case}/x"], stored[f"{case}/w"] = x, w
    features = x @ w.t()
    features.retain_grad()
    norm = torch.svd(features)[1].sum()
    norm.backward()
    stored[f"{case}/norm"] = norm
    stored[f"{case}/gradient/features"] = features.grad
    stored[f"{case}/gradient/w"] = w.grad
    centred = features.detach() - features.detach().mean(0, keepdim=True)
    stored[f"{case}/norm/centred"] = torch.svd(centred)[1].sum()
    stored[f"{case}/norm/frobenius"] = torch.linalg.norm(features.detach())

save(
    pathlib.Path(__file__).with_name("nuclear-norm.safetensors"),
    stored,
    {"torch": torch.__version__, "script": "tests/vectors/nuclear_norm.py"},
)
