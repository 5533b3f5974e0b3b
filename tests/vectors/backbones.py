"""Makes backbones.safetensors: features of every backbone and one training step, in float64, with torchvision's networks
and, for those it does not have, the same built from torch.nn after their descriptions.

Weights and inputs come by formula.py. A step is plain gradient descent on the cross-entropy of a linear head; of the networks
that came last, five steps. Run:
python3 tests/vectors/backbones.py
"""

import json
import pathlib

import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from formula import fill, formula
from safetensors_writer import save

CLASSES, RATE, SHOWN = 5, 1e-4, 6
stored, names = {}, {}


class Mlp(nn.Module):
    def __init__(self, inputs, width, depth):
        super().__init__()
        self.input = nn.Linear(inputs, width)
        self.hiddens = nn.ModuleList(nn.Linear(width, width) for _ in range(depth - 2))
        self.output = nn.Linear(width, width)

    def forward(self, x):
        for layer in (self.input, *self.hiddens):
            x = layer(x).relu()
        return self.output(x)


class MnistCnn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        sizes = [(channels, 64, 1), (64, 128, 2), (128, 128, 1), (128, 128, 1)]
        for i, (inputs, outputs, stride) in enumerate(sizes):
            self.add_module(f"conv{i + 1}", nn.Conv2d(inputs, outputs, 3, stride, padding=1))
        for i, (_, outputs, _) in enumerate(sizes):
            self.add_module(f"bn{i}", nn.GroupNorm(8, outputs))

    def forward(self, x):
        for i in range(4):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i + 1}")(x).relu())
        return x.mean((2, 3))


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 16, 5, padding=2), nn.Conv2d(16, 32, 3, padding=1)
        self.conv3, self.fc = nn.Conv2d(32, 64, 3, padding=1), nn.Linear(64 * 16, 128)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = nn.functional.max_pool2d(conv(x).relu(), 2)
        return self.fc(x.flatten(1)).relu()


class ToyCnn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.stem, self.stage1 = nn.Conv2d(channels, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.stage2, self.stage3 = nn.Conv2d(4, 6, 3, 2, padding=1), nn.Conv2d(6, 8, 3, 2, padding=1)

    def forward(self, x):
        for layer in (self.stem, self.stage1, self.stage2, self.stage3):
            x = layer(x).relu()
        return x.mean((2, 3))


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), nn.Conv2d(outputs, outputs, 3, stride, padding=1)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Sequential() if same else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride))

    def forward(self, x):
        return self.conv2(self.bn2(self.conv1(self.bn1(x).relu())).relu()) + self.shortcut(x)


class WideResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.layer1 = nn.Sequential(WideBlock(16, 32, 1), WideBlock(32, 32, 1))
        self.layer2 = nn.Sequential(WideBlock(32, 64, 2), WideBlock(64, 64, 1))
        self.layer3 = nn.Sequential(WideBlock(64, 128, 2), WideBlock(128, 128, 1))
        self.bn1 = nn.BatchNorm2d(128, momentum=0.9)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return F.avg_pool2d(self.bn1(x).relu(), 8).flatten(1)


class LinearMap(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.map = nn.Linear(inputs, outputs, bias=False)

    def forward(self, x):
        return self.map(x)


class DiagonalMap(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs))

    def forward(self, x):
        return x * self.weight


def mobilenet(trained):
    network = torchvision.models.mobilenet_v2()
    network.classifier = nn.Identity()
    return network if trained else network.eval()


def resnet(name, trained):
    network = getattr(torchvision.models, name)()
    network.fc = nn.Identity()
    # Evaluation mode is the frozen batch norm, and changes nothing else here: fixed statistics, all parameters trained.
    return network if trained else network.eval()


def strides_of_the_paper(network):
    """The stride of a stage in its first 1x1 convolution instead of its first 3x3 one."""
    for layer in (network.layer2, network.layer3, network.layer4):
        layer[0].conv1.stride, layer[0].conv2.stride = layer[0].conv2.stride, layer[0].conv1.stride
    return network


def efficientnet(trained):
    network = torchvision.models.efficientnet_b0(stochastic_depth_prob=0.0)
    network.classifier = nn.Identity()
    return network if trained else network.eval()


def regnet(trained):
    network = torchvision.models.regnet_y_400mf()
    network.fc = nn.Identity()
    return network if trained else network.eval()


def convnext():
    network = torchvision.models.convnext_tiny(stochastic_depth_prob=0.0)
    network.classifier[2] = nn.Identity()
    return network


def rows(tensors):
    """A row for each tensor: mean of the absolute values, mean, and the first elements."""
    out = torch.zeros(len(tensors), 2 + SHOWN, dtype=torch.float64)
    for row, tensor in zip(out, tensors):
        values = tensor.detach().double().flatten()
        row[0], row[1] = values.abs().mean(), values.mean()
        row[2 : 2 + min(SHOWN, len(values))] = values[:SHOWN]
    return out


def record(case, backbone, shape, scale=1.0, updates=1, rate=RATE):
    backbone = fill(backbone.double())
    x = formula("x", shape, scale)
    y = torch.arange(shape[0]) % CLASSES
    features = backbone(x)
    head = fill(nn.Linear(features.shape[1], CLASSES).double(), "head.")
    losses = [F.cross_entropy(head(features), y)]
    losses[0].backward()
    parameters = dict(backbone.named_parameters())
    stored[f"{case}/features"] = features[:, :64]
    stored[f"{case}/gradients"] = rows([parameter.grad for parameter in parameters.values()])
    buffers = {name: value for name, value in backbone.named_buffers() if value.is_floating_point()}
    if buffers and backbone.training:
        stored[f"{case}/buffers"] = rows(buffers.values())
        names[f"{case}/buffers"] = list(buffers)
    trained = (*parameters.values(), *head.parameters())
    for update in range(updates):
        with torch.no_grad():
            for parameter in trained:
                parameter -= rate * parameter.grad
                parameter.grad = None
        losses.append(F.cross_entropy(head(backbone(x)), y))
        if update < updates - 1:
            losses[-1].backward()
    stored[f"{case}/parameters"] = rows(parameters.values())
    stored[f"{case}/losses"] = torch.stack(losses).detach()
    names[f"{case}/gradients"] = names[f"{case}/parameters"] = list(parameters)
    size, spread = features.abs().mean().item(), features.std(0).mean().item()
    print(f"{case}: features {size:.4f}, between pictures {spread:.4f}; losses {[round(each.item(), 6) for each in losses]}")


record("mlp", Mlp(12, 16, 4), (6, 12))
record("linear-map", LinearMap(12, 7), (6, 12))
record("diagonal-map", DiagonalMap(12), (6, 12))
record("toy-cnn", ToyCnn(4), (3, 4, 8, 8))
record("small-cnn", SmallCnn(), (3, 3, 32, 32))
record("mnist-cnn", MnistCnn(2), (3, 2, 28, 28))
record("wide-resnet-16-2", WideResNet(), (4, 3, 32, 32))
record("wide-resnet-16-2 eval", WideResNet().eval(), (2, 3, 32, 32))
record("resnet18", resnet("resnet18", False), (2, 3, 64, 64))
record("resnet18 trained", resnet("resnet18", True), (4, 3, 64, 64))
record("resnet34", resnet("resnet34", False), (2, 3, 64, 64))
record("resnet50", resnet("resnet50", False), (2, 3, 64, 64))
record("resnet50 trained", resnet("resnet50", True), (4, 3, 64, 64))
record("resnet50_v1", strides_of_the_paper(resnet("resnet50", False)), (2, 3, 64, 64))
record("resnet50_v1 trained", strides_of_the_paper(resnet("resnet50", True)), (4, 3, 64, 64))
record("mobilenet_v2", mobilenet(False), (2, 3, 64, 64), scale=40.0)
record("mobilenet_v2 trained", mobilenet(True), (4, 3, 64, 64))

for case, trained, shape in (("", False, (2, 3, 64, 64)), (" trained", True, (4, 3, 64, 64))):
    record(f"efficientnet_b0{case}", efficientnet(trained), shape, updates=5, rate=2e-5)
    record(f"regnet_y_400mf{case}", regnet(trained), shape, updates=5, rate=2e-5)
# libtorch computes depthwise convolutions in float64 channel by channel, so one small picture is enough here.
record("convnext_tiny", convnext(), (1, 3, 32, 32), updates=5, rate=2e-5)

metadata = {"torch": torch.__version__, "torchvision": torchvision.__version__}
# Names as their order: most lists are the same for several cases.
lists = sorted({json.dumps(value) for value in names.values()})
metadata["lists"] = f"[{','.join(lists)}]"
metadata["names"] = json.dumps({key: lists.index(json.dumps(value)) for key, value in names.items()})
save(pathlib.Path(__file__).with_suffix(".safetensors"), stored, metadata)
