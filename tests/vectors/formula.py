"""Weights and inputs by an exact integer formula, the same in tests/support/formula-weights.ts, so none need storing."""

import math
import re
import zlib

import numpy
import torch


def formula(name, shape, scale=1.0, around=0.0):
    """float64: around ± scale, spread evenly; which number stands where depends on the name."""
    places = numpy.arange(math.prod(shape), dtype=numpy.int64)
    steps = (places * 7919 + zlib.crc32(name.encode())) % 10007
    return torch.from_numpy(((steps / 10007 - 0.5) * 2 * scale + around).reshape(shape))


def formula_state(name, shape):
    """A parameter or buffer of a network, by the end of its name: norms near 1 and 0, weights as large as keeps maps in range."""
    if name.endswith("num_batches_tracked"):
        return torch.zeros(shape, dtype=torch.int64)
    if name.endswith("running_var"):
        return formula(name, shape, 0.3, 1)
    if name.endswith("running_mean") or name.endswith("bias"):
        return formula(name, shape, 0.1)
    if name.endswith("layer_scale"):
        return formula(name, shape, 0.25, 0.75)
    if name.endswith(("bn3.weight", "f.c.1.weight")):
        # Small, so that a block adds little: at 1, training mode amplifies so much that PyTorch's own float32 is 5 % off.
        return formula(name, shape, 0.03, 0.1)
    if re.search(r"block\.\d\.1\.weight$", name):
        # Large, because SiLU and the gates of squeeze-and-excitation take most of a map: at 1, no picture is left at the end.
        return formula(name, shape, 0.2, 1.8)
    if len(shape) < 2:
        return formula(name, shape, 0.2, 1)
    return formula(name, shape, math.sqrt(3 / math.prod(shape[1:])))


def fill(module, prefix=""):
    """Sets all of a module's state; float32 or float64 as the module is."""
    with torch.no_grad():
        for name, target in module.state_dict().items():
            target.copy_(formula_state(prefix + name, tuple(target.shape)))
    return module
