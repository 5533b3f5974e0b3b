"""Writes torchvision's ResNets with random weights, as torch.save does in both of its formats, and their outputs.

For tests/parity/torchvision-files.test.ts, which runs it: python3 tests/vectors/torchvision_files.py FOLDER
"""

import os
import pathlib
import sys

sys.dont_write_bytecode = True

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # DataParallel would move the network to a GPU

import torch
import torchvision

from formula import formula
from safetensors_writer import save

folder = pathlib.Path(sys.argv[1])
torch.manual_seed(1)


def random_network(name):
    """Random throughout: also the batch norms, which start as the identity."""
    network = getattr(torchvision.models, name)()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.3, 0.9)
            torch.nn.init.normal_(module.bias, 0, 0.2)
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 2)
    return network


def features(network, channels=3):
    """What the network gives before its classification layer."""
    network.fc = torch.nn.Identity()
    with torch.no_grad():
        return network.eval()(formula("x", (2, channels, 96, 96)).float())


outputs = {}
for name in ("resnet18", "resnet50"):
    network = random_network(name)
    torch.save(network.state_dict(), folder / f"{name}-zip.pth")
    torch.save(network.state_dict(), folder / f"{name}-legacy.pth", _use_new_zipfile_serialization=False)
    if name == "resnet18":
        # A DomainBed checkpoint: the backbone under two names with one storage, a classifier, and settings.
        backbone = {key: value for key, value in network.state_dict().items() if not key.startswith("fc.")}
        model = {f"featurizer.network.{key}": value for key, value in backbone.items()}
        model |= {f"network.0.network.{key}": value for key, value in backbone.items()}
        model |= {f"{key}.weight": torch.zeros(7, 512) for key in ("classifier", "network.1")}
        torch.save({"args": {"dataset": "PACS"}, "model_dict": model}, folder / "domainbed.pkl")
        parallel = torch.nn.DataParallel(network)
        torch.save(parallel.state_dict(), folder / "data-parallel.pth")
    outputs[name] = features(network)

# Four input channels: channel i begins as the trained channel i mod 3, and the rest of the network is the same.
network = torchvision.models.resnet18()
network.load_state_dict(torch.load(folder / "resnet18-zip.pth"))
trained = network.conv1.weight.detach()
network.conv1 = torch.nn.Conv2d(4, 64, 7, 2, 3, bias=False)
network.conv1.weight.data = torch.cat([trained, trained[:, :1]], 1)
outputs["resnet18-4-channels"] = features(network, 4)
save(folder / "outputs.safetensors", outputs)
