"""Writes torchvision's EfficientNet-B0, RegNetY-400MF and ConvNeXt-T with random weights under every published naming, as
torch.save does, and their features. Other names are made from the structure of the networks, after timm's, Meta's and Hugging
Face's sources.

For tests/parity/convolutional-files.test.ts, which runs it: python3 tests/vectors/convolutional_files.py FOLDER
"""

import pathlib
import sys

sys.dont_write_bytecode = True

import torch
import torchvision

from formula import formula
from safetensors_writer import save

folder = pathlib.Path(sys.argv[1])
torch.manual_seed(1)


def randomised(network, norms=(0.5, 1)):
    """Random throughout, and large enough that a picture is seen in the features."""
    for name, tensor in network.state_dict().items():
        if name.endswith("running_mean") or name.endswith("bias"):
            tensor.normal_(0, 0.1)
        elif name.endswith("running_var"):
            tensor.uniform_(0.5, 1.5)
        elif name.endswith("layer_scale") or (name.endswith("weight") and tensor.dim() == 1):
            tensor.uniform_(*norms)
        elif tensor.dim() > 1:
            tensor.normal_(0, tensor[0].numel() ** -0.5)
    return network.eval()


def renamed(pairs):
    """A state dict: each module's tensors under another prefix."""
    return {f"{prefix}.{key}": value for prefix, module in pairs for key, value in module.state_dict().items()}


def efficientnet_timm(network):
    features = network.features
    pairs = [("conv_stem", features[0][0]), ("bn1", features[0][1])]
    pairs += [("conv_head", features[8][0]), ("bn2", features[8][1]), ("classifier", network.classifier[1])]
    for s in range(7):
        for j, layer in enumerate(features[s + 1]):
            parts = list(layer.block)
            names = ["conv_dw", "conv_pw"] if len(parts) == 3 else ["conv_pw", "conv_dw", "conv_pwl"]
            convs = [part for part in parts if hasattr(part, "__len__")]
            squeeze = next(part for part in parts if not hasattr(part, "__len__"))
            for i, (name, conv) in enumerate(zip(names, convs)):
                pairs += [(f"blocks.{s}.{j}.{name}", conv[0]), (f"blocks.{s}.{j}.bn{i + 1}", conv[1])]
            pairs += [(f"blocks.{s}.{j}.se.conv_reduce", squeeze.fc1), (f"blocks.{s}.{j}.se.conv_expand", squeeze.fc2)]
    return renamed(pairs)


def regnet_blocks(network):
    for s, stage in enumerate(network.trunk_output):
        for j, block in enumerate(stage):
            yield s, j, block


def regnet_timm(network):
    pairs = [("stem.conv", network.stem[0]), ("stem.bn", network.stem[1]), ("head.fc", network.fc)]
    for s, j, block in regnet_blocks(network):
        at = f"s{s + 1}.b{j + 1}"
        for i, part in enumerate((block.f.a, block.f.b, block.f.c)):
            pairs += [(f"{at}.conv{i + 1}.conv", part[0]), (f"{at}.conv{i + 1}.bn", part[1])]
        pairs += [(f"{at}.se.fc1", block.f.se.fc1), (f"{at}.se.fc2", block.f.se.fc2)]
        if block.proj is not None:
            pairs += [(f"{at}.downsample.conv", block.proj[0]), (f"{at}.downsample.bn", block.proj[1])]
    return renamed(pairs)


def regnet_hugging_face(network):
    stem = "regnet.embedder.embedder"
    pairs = [(f"{stem}.convolution", network.stem[0]), (f"{stem}.normalization", network.stem[1])]
    pairs.append(("classifier.1", network.fc))
    for s, j, block in regnet_blocks(network):
        at = f"regnet.encoder.stages.{s}.layers.{j}"
        for i, part in ((0, block.f.a), (1, block.f.b), (3, block.f.c)):
            pairs += [(f"{at}.layer.{i}.convolution", part[0]), (f"{at}.layer.{i}.normalization", part[1])]
        pairs += [(f"{at}.layer.2.attention.0", block.f.se.fc1), (f"{at}.layer.2.attention.2", block.f.se.fc2)]
        if block.proj is not None:
            pairs += [(f"{at}.shortcut.convolution", block.proj[0]), (f"{at}.shortcut.normalization", block.proj[1])]
    return renamed(pairs)


def convnext(network, names):
    """By the names of: stem, downsampling, block, its four layers, its scale, the last norm, the classifier."""
    features = network.features
    pairs = [(names["stem"][i], features[0][i]) for i in (0, 1)]
    scales = {}
    for s in range(4):
        if s > 0:
            pairs += [(names["downsample"].format(s=s, i=i), features[2 * s][i]) for i in (0, 1)]
        for j, block in enumerate(features[2 * s + 1]):
            at = names["block"].format(s=s, j=j)
            pairs += [(f"{at}.{name}", block.block[i]) for name, i in zip(names["layers"], (0, 2, 3, 5))]
            scales[f"{at}.{names['scale']}"] = block.layer_scale.detach().flatten()
    pairs += [(names["norm"], network.classifier[0]), (names["head"], network.classifier[2])]
    return renamed(pairs) | scales


TIMM = {
    "stem": ["stem.0", "stem.1"], "downsample": "stages.{s}.downsample.{i}", "block": "stages.{s}.blocks.{j}",
    "layers": ["conv_dw", "norm", "mlp.fc1", "mlp.fc2"], "scale": "gamma", "norm": "head.norm", "head": "head.fc",
}
META = {
    "stem": ["downsample_layers.0.0", "downsample_layers.0.1"], "downsample": "downsample_layers.{s}.{i}",
    "block": "stages.{s}.{j}", "layers": ["dwconv", "norm", "pwconv1", "pwconv2"], "scale": "gamma", "norm": "norm", "head": "head",
}
HUGGING_FACE = {
    "stem": ["convnext.embeddings.patch_embeddings", "convnext.embeddings.layernorm"],
    "downsample": "convnext.encoder.stages.{s}.downsampling_layer.{i}", "block": "convnext.encoder.stages.{s}.layers.{j}",
    "layers": ["dwconv", "layernorm", "pwconv1", "pwconv2"], "scale": "layer_scale_parameter",
    "norm": "convnext.layernorm", "head": "classifier",
}

outputs = {}


def features(name, network, head):
    outer, _, last = head.rpartition(".")
    setattr(network.get_submodule(outer), last, torch.nn.Identity())
    with torch.no_grad():
        outputs[name] = network(formula("x", (2, 3, 64, 64)).float())


network = randomised(torchvision.models.efficientnet_b0(), norms=(1.3, 1.6))
torch.save(network.state_dict(), folder / "efficientnet-torchvision.pth")
save(folder / "efficientnet-timm.safetensors", efficientnet_timm(network))
features("efficientnet", network, "classifier")

network = randomised(torchvision.models.regnet_y_400mf())
torch.save({f"module.{key}": value for key, value in network.state_dict().items()}, folder / "regnet-torchvision.pth")
save(folder / "regnet-timm.safetensors", regnet_timm(network))
save(folder / "regnet-hugging-face.safetensors", regnet_hugging_face(network))
features("regnet", network, "fc")

# In half precision, as some files are: rounded first, so that all have the same numbers.
network = randomised(torchvision.models.convnext_tiny()).half().float()
half = lambda state: {key: value.half() for key, value in state.items()}
torch.save(half(network.state_dict()), folder / "convnext-torchvision.pth")
torch.save({"model": half(convnext(network, META))}, folder / "convnext-meta.pth")
timm = convnext(network, TIMM)
# As timm's networks with 1×1 convolutions in the place of linear layers have them.
for key in timm:
    if ".mlp.fc" in key and key.endswith("weight"):
        timm[key] = timm[key][:, :, None, None]
torch.save(half(timm), folder / "convnext-timm.pth")
torch.save(half(convnext(network, HUGGING_FACE)), folder / "convnext-hugging-face.pth")
features("convnext", network, "classifier.2")

save(folder / "outputs.safetensors", outputs)
