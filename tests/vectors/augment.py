"""Makes augment.safetensors: what PIL and torchvision make of small pictures for given draws.

A case is a source picture, a draw (the 18 numbers of src/data/augment.ts, in its order), an interpolation and the 8-bit
picture that comes out. Cases with a `resize` are torchvision's Resize and CenterCrop. `normalised` is one of them after ToTensor and Normalize. Run: python3 tests/vectors/augment.py
"""

import json
import pathlib

import numpy as np
import torch
from PIL import Image
from safetensors_writer import save
from torchvision import transforms as T
from torchvision.transforms import functional as F

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
random = np.random.RandomState(0)
stored, cases = {}, []


def smooth(width, height):
    """A photograph's like: slow waves of colour and a little noise."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = [np.sin(x / a + c) + np.cos(y / b - c) for a, b, c in ((7, 5, 0), (4, 9, 1), (11, 6, 2))]
    picture = 127.5 + 60 * np.stack(planes, 2) + random.normal(0, 6, (height, width, 3))
    return picture.clip(0, 255).astype(np.uint8)


def blocks(width, height):
    """A drawing's like: flat patches, the corners of the colour cube among them, with hard edges."""
    colours = np.concatenate([np.array(list(np.ndindex(2, 2, 2))) * 255, random.randint(0, 256, (24, 3))])
    patches = random.randint(0, len(colours), (height // 3 + 1, width // 3 + 1)).repeat(3, 0).repeat(3, 1)
    return colours[patches[:height, :width]].astype(np.uint8)


def dull(width, height):
    """Nearly grey, where hue is nearly undefined."""
    return (random.randint(0, 250, (height, width, 1)) + random.randint(0, 6, (height, width, 3))).astype(np.uint8)


sources = {
    "noise": random.randint(0, 256, (31, 43, 3)).astype(np.uint8),
    "smooth": smooth(60, 44),
    "blocks": blocks(24, 24),
    "dull": dull(20, 33),
    "small": smooth(9, 7),
    "sliver": smooth(3, 70),
    "dot": np.array([[[200, 30, 90]]], np.uint8),
}
for name, source in sources.items():
    stored[f"source/{name}"] = torch.from_numpy(source)


def apply(image, size, crop, interpolation, flip=0, brightness=1, contrast=1, saturation=1, hue=0, order=(0, 1, 2, 3), gray=0):
    """The field's pipeline with its draws given: RandomResizedCrop, flip, ColorJitter, RandomGrayscale."""
    left, top, width, height = crop
    image = F.resized_crop(image, top, left, height, width, [size, size], interpolation)
    if flip:
        image = F.hflip(image)
    steps = [
        (F.adjust_brightness, brightness, 1),
        (F.adjust_contrast, contrast, 1),
        (F.adjust_saturation, saturation, 1),
        (F.adjust_hue, hue, 0),
    ]
    for which in order:
        function, value, nothing = steps[which]
        if value != nothing:
            image = function(image, value)
    return F.rgb_to_grayscale(image, 3) if gray else image


def case(title, source, size=24, crop=None, interpolation="bilinear", **draw):
    for name in ("brightness", "contrast", "saturation", "hue"):
        if name in draw:
            draw[name] = float(np.float32(draw[name]))  # the kernel is given float32
    image = Image.fromarray(sources[source])
    crop = crop or (0, 0, *image.size)
    result = apply(image, size, crop, T.InterpolationMode(interpolation), **draw)
    row = [*crop, draw.get("flip", 0)]
    row += [draw.get("brightness", 1), draw.get("contrast", 1), draw.get("saturation", 1), draw.get("hue", 0)]
    row += [*draw.get("order", (0, 1, 2, 3)), draw.get("gray", 0)]
    add(title, source, result, size=size, draw=[*row, 0, 0, 0, 0], interpolation=interpolation)
    return result


def add(title, source, result, **how):
    stored[f"result/{len(cases)}"] = torch.from_numpy(np.array(result))
    cases.append({"title": title, "source": source, **how})


def centre(title, source, resize, size=24, interpolation="bilinear"):
    image = Image.fromarray(sources[source])
    result = F.center_crop(F.resize(image, resize, T.InterpolationMode(interpolation)), [size, size])
    add(f"{title}, {interpolation}", source, result, size=size, resize=resize, interpolation=interpolation)


case("resize down", "noise")
case("resize down far", "smooth", size=10)
case("resize up", "small")
case("one side down, the other up", "sliver")
case("no resize", "blocks")
case("one pixel", "dot", size=5)
case("height only", "noise", crop=(3, 2, 24, 29))
case("width only", "noise", crop=(0, 7, 43, 24))
case("crop", "smooth", crop=(11, 5, 37, 31))
case("crop at the far corner", "smooth", crop=(23, 13, 37, 31))
case("crop without resize", "smooth", crop=(9, 8, 24, 24))
case("flip", "noise", flip=1)
for value in (0.7, 0.93, 1.3):
    case(f"brightness {value}", "noise", brightness=value)
    case(f"contrast {value}", "smooth", contrast=value)
    case(f"saturation {value}", "blocks", saturation=value)
    case(f"saturation {value}, dull", "dull", saturation=value)
for value in (-0.3, -0.11, 0.004, 0.2, 0.3, -0.5, 0.5):
    case(f"hue {value}, every colour", "noise", hue=value)
    case(f"hue {value}, the corners of the cube", "blocks", hue=value)
    case(f"hue {value}, dull", "dull", hue=value)
case("hue too small to shift the byte", "noise", hue=0.001)
case("gray", "noise", gray=1)
for i in range(12):
    name = ("noise", "smooth", "blocks", "dull")[i % 4]
    height, width = sources[name].shape[:2]
    w, h = random.randint(width // 2, width + 1), random.randint(height // 2, height + 1)
    result = case(
        f"everything, {i}",
        name,
        crop=(int(random.randint(0, width - w + 1)), int(random.randint(0, height - h + 1)), int(w), int(h)),
        flip=i % 2,
        brightness=random.uniform(0.7, 1.3),
        contrast=random.uniform(0.7, 1.3),
        saturation=random.uniform(0.7, 1.3),
        hue=random.uniform(-0.3, 0.3),
        order=[int(which) for which in random.permutation(4)],
        gray=int(i == 11),
    )

CUBIC = {"interpolation": "bicubic"}
case("bicubic, resize down", "noise", **CUBIC)
case("bicubic, resize down far", "smooth", size=10, **CUBIC)
case("bicubic, resize up", "small", **CUBIC)
case("bicubic, hard edges up", "blocks", size=50, **CUBIC)
case("bicubic, hard edges down", "blocks", size=17, **CUBIC)
case("bicubic, one side down, the other up", "sliver", **CUBIC)
case("bicubic, no resize", "blocks", **CUBIC)
case("bicubic, one pixel", "dot", size=5, **CUBIC)
case("bicubic, height only", "noise", crop=(3, 2, 24, 29), **CUBIC)
case("bicubic, width only", "noise", crop=(0, 7, 43, 24), **CUBIC)
case("bicubic, crop and flip", "noise", crop=(11, 5, 30, 21), flip=1, **CUBIC)
for interpolation in ("bilinear", "bicubic"):
    centre("centre of a wide picture", "smooth", 28, interpolation=interpolation)
    centre("centre of a tall picture", "dull", 27, interpolation=interpolation)
    centre("centre of a picture that is too small", "small", 29, interpolation=interpolation)
    centre("centre without a resize", "noise", 31, interpolation=interpolation)
    centre("no margin on the short side", "noise", 24, interpolation=interpolation)
    centre("a long strip", "sliver", 25, interpolation=interpolation)
    centre("far down", "smooth", 13, size=11, interpolation=interpolation)

# Strips, after everything else so that no other picture changes. Resized, the first is 75000 pixels wide and the second 96000 high.
sources["thread"], sources["ribbon"] = smooth(300, 1), smooth(2, 768)
for name in ("thread", "ribbon"):
    stored[f"source/{name}"] = torch.from_numpy(sources[name])
    for interpolation in ("bilinear", "bicubic"):
        centre(f"a {name}", name, 250, interpolation=interpolation)

# Where torchvision's own random crops fall: the deciles of left, top, width and height over many draws.
for width, height in ((227, 227), (320, 240), (90, 400)):
    torch.manual_seed(0)
    image = Image.new("RGB", (width, height))
    draws = [T.RandomResizedCrop.get_params(image, (0.7, 1.0), (3 / 4, 4 / 3)) for _ in range(20000)]
    crops = torch.tensor([[left, top, w, h] for top, left, h, w in draws], dtype=torch.float64)
    stored[f"crops/{width}x{height}"] = torch.quantile(crops, torch.arange(1, 10, dtype=torch.float64) / 10, dim=0, interpolation="lower")
stored["normalised"] = T.Compose([T.ToTensor(), T.Normalize(MEAN, STD)])(result)
save(pathlib.Path(__file__).with_name("augment.safetensors"), stored, {"cases": json.dumps(cases)})
