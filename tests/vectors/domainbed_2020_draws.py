"""
Hyperparameters that the code behind DomainBed's tables of 2020 draws: its own hparams_registry.py at commit 7df6f06, run with NumPy.
Run in a clone of https://github.com/facebookresearch/DomainBed:

    python3 domainbed_2020_draws.py CLONE > domainbed-2020-draws.json
"""

import hashlib
import json
import subprocess
import sys

import numpy as np

COMMIT = "7df6f06"
source = subprocess.run(
    ["git", "-C", sys.argv[1], "show", COMMIT + ":domainbed/hparams_registry.py"],
    check=True, capture_output=True, text=True,
).stdout
registry = {}
exec(compile(source, "hparams_registry.py", "exec"), registry)

ALGORITHMS = ["ERM", "IRM", "GroupDRO", "Mixup", "MLDG", "CORAL", "MMD", "DANN", "CDANN", "MTL", "SagNet", "ARM", "VREx", "RSC"]


def seed_hash(*args):
    return int(hashlib.md5(str(args).encode("utf-8")).hexdigest(), 16) % (2**31)


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


rows = []
for algorithm in ALGORITHMS:
    defaults = registry["default_hparams"](algorithm, "ColoredMNIST")
    rows.append({"algorithm": algorithm, "draw": 0, "trial": 0, "hparams": {k: plain(v) for k, v in defaults.items()}})
    for trial in [0, 2]:
        for draw in [1, 2, 19]:
            drawn = registry["random_hparams"](algorithm, "ColoredMNIST", seed_hash(draw, trial))
            rows.append({"algorithm": algorithm, "draw": draw, "trial": trial, "hparams": {k: plain(v) for k, v in drawn.items()}})

print('{\n  "numpy": "%s",\n  "commit": "%s",\n  "rows": [' % (np.__version__, COMMIT))
print(",\n".join("    " + json.dumps(row) for row in rows))
print("  ]\n}")
