"""Makes nn.safetensors: what PyTorch's layers and losses return, and their gradients, in float64.

Inputs and weights come by formula.py. Run: python3 tests/vectors/nn.py
"""

import pathlib

import torch
from torch import nn
from torch.nn import functional as F

from formula import fill, formula
from safetensors_writer import save

stored = {}


def record(case, layer, shape, batches=1, scale=2.0):
    """Runs `batches` inputs through a layer and the last one's output back, against a gradient by the formula."""
    layer = fill(layer.double(), f"{case}.") if isinstance(layer, nn.Module) else layer
    for i in range(batches):
        x = formula(f"{case}.x{i}", shape, scale).requires_grad_()
        y = layer(x)
    y.backward(formula(f"{case}.gradient", tuple(y.shape)))
    stored[f"{case}/output"] = y
    stored[f"{case}/gradient/x"] = x.grad
    if isinstance(layer, nn.Module):
        for name, parameter in layer.named_parameters():
            stored[f"{case}/gradient/{name}"] = parameter.grad
        for name, buffer in layer.named_buffers():
            stored[f"{case}/state/{name}"] = buffer


record("linear", nn.Linear(5, 3), (4, 5))
record("linear-no-bias", nn.Linear(5, 3, bias=False), (2, 4, 5))
record("conv", nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 7, 6))
record("conv-no-bias", nn.Conv2d(3, 4, 1, bias=False), (2, 3, 5, 4))
record("conv-groups", nn.Conv2d(4, 6, 3, groups=2), (2, 4, 5, 5))
record("conv-depthwise", nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False), (2, 4, 5, 5))

record("batch-norm-train", nn.BatchNorm2d(3), (4, 3, 3, 2), batches=2)
record("batch-norm-eval", nn.BatchNorm2d(3).eval(), (4, 3, 3, 2))
record("batch-norm-average", nn.BatchNorm2d(3, momentum=None, eps=1e-3), (4, 3, 3, 2), batches=3)
record("batch-norm-1d", nn.BatchNorm1d(3, momentum=0.9), (5, 3), batches=2)
record("group-norm", nn.GroupNorm(2, 6, eps=1e-4), (3, 6, 3, 2))
record("group-norm-vector", nn.GroupNorm(4, 8), (3, 8))

record("relu", F.relu, (3, 7))
record("relu6", F.relu6, (3, 7), scale=9.0)
record("max-pool", lambda x: F.max_pool2d(x, 3, 2, 1), (2, 3, 7, 6))
record("avg-pool", lambda x: F.avg_pool2d(x, 3, 2, 1), (2, 3, 7, 6))
record("adaptive-avg-pool", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (2, 3, 7, 5))
record("global-avg-pool", lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), (2, 3, 7, 5))

embedding = fill(nn.Embedding(5, 3).double(), "embedding.")
output = embedding(torch.tensor([[0, 4, 2], [4, 4, 1]]))
output.backward(formula("embedding.gradient", (2, 3, 3)))
stored["embedding/output"] = output
stored["embedding/gradient/weight"] = embedding.weight.grad

labels = torch.tensor([0, 3, 1, 3, 2])
probabilities = torch.softmax(formula("cross-entropy.probabilities", (5, 4)), 1)
for reduction in ("mean", "sum", "none"):
    record(f"cross-entropy-{reduction}", lambda x: F.cross_entropy(x, labels, reduction=reduction), (5, 4), scale=8.0)
    record(f"mse-{reduction}", lambda x: F.mse_loss(x, formula("mse.target", (5, 4)), reduction=reduction), (5, 4))
record("cross-entropy-probabilities", lambda x: F.cross_entropy(x, probabilities), (5, 4))

# A frozen batch norm after a convolution, as fine-tuning runs it: statistics fixed, weight and bias trained.
pair = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)).eval()
record("conv-norm", pair, (2, 3, 5, 4))

save(pathlib.Path(__file__).with_suffix(".safetensors"), stored, {"torch": torch.__version__})
