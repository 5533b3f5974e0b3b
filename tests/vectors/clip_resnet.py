"""Makes clip-resnet-openai.pt: a small ResNet image tower of CLIP in OpenAI's format, and clip-resnet.safetensors: its
features at four picture sizes, gradients and five updates with fixed and with trained batch norm, in float64.

The network is computed here from the paper's description and OpenAI's names: average pooling by reshaping, and the attention
pooling head by head. Weights are random throughout, also those that start as 0 or 1. Run: python3 tests/vectors/clip_resnet.py
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

from formula import fill, formula
from safetensors_writer import save

HERE = pathlib.Path(__file__).parent
FILE = HERE / "clip-resnet-openai.pt"
WIDTH, BLOCKS, HEADS, FEATURES, SIDE = 4, (2, 1, 1, 1), 4, 6, 64
SIZES, CLASSES, RATE, UPDATES, SHOWN = (64, 96, 32, 70), 5, 0.001, 5, 6
stored = {}
torch.manual_seed(11)


def halved(x):
    """The mean of every 2×2 square; an odd last row or column is dropped."""
    n, c, h, w = x.shape
    return x[:, :, : h // 2 * 2, : w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5))


class Block(nn.Module):
    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.stride = stride
        self.conv1, self.bn1 = nn.Conv2d(inputs, channels, 1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = nn.Conv2d(channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels)
        same = stride == 1 and inputs == 4 * channels
        self.downsample = None if same else nn.Sequential(nn.Conv2d(inputs, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        y = self.bn1(self.conv1(x)).clamp(min=0)
        y = self.bn2(self.conv2(y)).clamp(min=0)
        if self.stride == 2:
            x, y = halved(x), halved(y)
        shortcut = x if self.downsample is None else self.downsample(x)
        return (self.bn3(self.conv3(y)) + shortcut).clamp(min=0)


class Pool(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.positional_embedding = nn.Parameter(torch.zeros(1 + (SIDE // 32) ** 2, channels))
        self.k_proj, self.q_proj, self.v_proj = (nn.Linear(channels, channels) for _ in range(3))
        self.c_proj = nn.Linear(channels, FEATURES)

    def forward(self, x):
        n, c, h, w = x.shape
        positions, old = self.positional_embedding, SIDE // 32
        if (h, w) != (old, old):
            rest = positions[1:].reshape(1, old, old, c).permute(0, 3, 1, 2)
            rest = F.interpolate(rest, size=(h, w), mode="bicubic", antialias=True)
            positions = torch.cat([positions[:1], rest.permute(0, 2, 3, 1).reshape(-1, c)])
        cells = x.flatten(2).transpose(1, 2)
        tokens = torch.cat([cells.sum(1, keepdim=True) / (h * w), cells], 1) + positions
        q, k, v = self.q_proj(tokens[:, 0]), self.k_proj(tokens), self.v_proj(tokens)
        d, heads = c // HEADS, []
        for head in range(HEADS):
            part = slice(head * d, (head + 1) * d)
            weights = (torch.einsum("nd,njd->nj", q[:, part], k[..., part]) / math.sqrt(d)).softmax(-1)
            heads.append(torch.einsum("nj,njd->nd", weights, v[..., part]))
        return self.c_proj(torch.cat(heads, -1))


class Tower(nn.Module):
    def __init__(self, width=WIDTH, blocks=BLOCKS):
        super().__init__()
        half = width // 2
        self.conv1, self.bn1 = nn.Conv2d(3, half, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(half)
        self.conv2, self.bn2 = nn.Conv2d(half, half, 3, padding=1, bias=False), nn.BatchNorm2d(half)
        self.conv3, self.bn3 = nn.Conv2d(half, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        inputs = width
        for i, count in enumerate(blocks):
            channels, made = width * 2**i, []
            for place in range(count):
                made.append(Block(inputs, channels, 2 if i > 0 and place == 0 else 1))
                inputs = 4 * channels
            self.add_module(f"layer{i + 1}", nn.Sequential(*made))
        self.attnpool = Pool(inputs)

    def forward(self, x):
        for conv, norm in ((self.conv1, self.bn1), (self.conv2, self.bn2), (self.conv3, self.bn3)):
            x = norm(conv(x)).clamp(min=0)
        x = self.layer4(self.layer3(self.layer2(self.layer1(halved(x)))))
        return self.attnpool(x)


class Clip(nn.Module):
    """With tensors of the kinds that a file of CLIP has besides."""

    def __init__(self):
        super().__init__()
        self.visual = Tower()
        self.positional_embedding = nn.Parameter(torch.randn(7, WIDTH))
        self.logit_scale = nn.Parameter(torch.tensor(4.6))
        self.register_buffer("input_resolution", torch.tensor(SIDE))

    def forward(self, x):
        return self.visual(x)


def randomise(module):
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if name.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif name.endswith("running_mean"):
                value.normal_(0, 0.1)
            elif name.endswith("bias"):
                value.normal_(0, 0.05)
            elif name.endswith("positional_embedding"):
                value.normal_(0, 0.5)
            elif value.dim() == 1:
                value.copy_(1 + 0.2 * torch.randn_like(value))
            elif value.dim() >= 2:
                value.normal_(0, 1.4 / math.sqrt(value[0].numel()))
            if value.is_floating_point():
                value.copy_(value.half().float())  # so that OpenAI's half-precision file is the same network
    return module


def row(value):
    flat = value.detach().reshape(-1)
    first = flat[:SHOWN].tolist()
    return [flat.abs().mean().item(), flat.mean().item(), *first, *[0.0] * (SHOWN - len(first))]


def record(case, state, trained):
    network = Tower().double()
    network.load_state_dict(state)
    network.train(trained)
    head = fill(nn.Linear(FEATURES, CLASSES).double(), "head.")
    x, y, losses = formula(f"x{SIDE}", (3, 3, SIDE, SIDE), 2), torch.tensor([0, 1, 2]), []
    for update in range(UPDATES):
        network.zero_grad()
        head.zero_grad()
        features = network(x)
        if update == 0:
            stored[f"{case}/features"] = features.detach()
            spread = (features[0] - features[1]).abs().max().item()
            assert spread > 0.01, spread
        loss = F.cross_entropy(head(features), y)
        loss.backward()
        losses.append(loss.item())
        if update == 0:
            stored[f"{case}/gradients"] = torch.tensor([row(p.grad) for p in network.parameters()], dtype=torch.float64)
        with torch.no_grad():
            for parameter in (*network.parameters(), *head.parameters()):
                parameter -= RATE * parameter.grad
    stored[f"{case}/parameters"] = torch.tensor([row(p) for p in network.parameters()], dtype=torch.float64)
    stored[f"{case}/buffers"] = torch.tensor([row(b.double()) for b in network.buffers()], dtype=torch.float64)
    stored[f"{case}/losses"] = torch.tensor(losses, dtype=torch.float64)
    print(case, losses)
    return network


def main():
    network = randomise(Clip()).eval()
    state = {name: value.clone() for name, value in network.state_dict().items()}  # script.half() changes the network
    with torch.no_grad():
        script = torch.jit.trace(network, torch.zeros(1, 3, SIDE, SIDE), check_trace=False)
    script.half().save(str(FILE))
    tower = {name[len("visual."):]: value for name, value in state.items() if name.startswith("visual.")}
    network = Tower().double().eval()
    network.load_state_dict(tower)
    with torch.no_grad():
        for size in SIZES:
            stored[f"features{size}"] = network(formula(f"x{size}", (3, 3, size, size), 2))
    record("frozen", tower, False)
    record("trained", tower, True)
    names = {"parameters": [n for n, _ in network.named_parameters()], "buffers": [n for n, _ in network.named_buffers()]}
    globals().update(SIDE=224, FEATURES=1024)
    shapes = {name: list(value.shape) for name, value in Tower(64, (3, 4, 6, 3)).state_dict().items()}
    save(HERE / "clip-resnet.safetensors", stored, {"names": json.dumps(names), "clip_rn50": json.dumps(shapes)})
    print(sum(math.prod(shape) for name, shape in shapes.items() if "running" not in name and "num_batches" not in name))


main()
