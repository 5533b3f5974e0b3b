"""Makes torchvision-preprocessing.json: how torchvision prepares pictures for the weights in data/weights.jsonl, by network and name.

Run: python3 tests/vectors/torchvision_preprocessing.py
"""

import json
import pathlib

from torchvision import models
from torchvision.transforms import InterpolationMode

here = pathlib.Path(__file__).parent
listed = [json.loads(line) for line in (here / "../../data/weights.jsonl").read_text().splitlines()]
wanted = {f"{each['backbone']} {each['title']}" for each in listed if each["title"].startswith("torchvision ")}
presets = {}
for name in dir(models):
    if not name.endswith("_Weights"):
        continue
    for weights in getattr(models, name):
        key = f"{name.removesuffix('_Weights').lower()} torchvision {weights.name}"
        if key not in wanted:
            continue
        given = weights.transforms.keywords
        presets[key] = {
            "size": given["crop_size"],
            "resize": given.get("resize_size", 256),
            "interpolation": given.get("interpolation", InterpolationMode.BILINEAR).value,
        }
lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(presets[key])}" for key in sorted(presets))
(here / "torchvision-preprocessing.json").write_text(f"{{\n{lines}\n}}\n")
