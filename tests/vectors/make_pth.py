"""Makes the files in tests/vectors/pth with PyTorch itself, and expected.json with the values PyTorch sees in them.

Made with torch 1.13 (Debian 12's python3-torch); torch 1.13 writes addresses as the keys of the older format, so those
files differ from run to run, by nothing that is read. Run: python3 tests/vectors/make_pth.py
"""

import collections
import io
import json
import pathlib
import random

import torch

torch.manual_seed(0)
folder = pathlib.Path(__file__).parent / "pth"
folder.mkdir(exist_ok=True)


def state_dict():
    """One of everything that a state dict may hold."""
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 8
    state = collections.OrderedDict()
    state["parameter"] = torch.nn.Parameter(torch.randn(2, 3))
    state["frozen"] = torch.nn.Parameter(torch.randn(2), requires_grad=False)
    state["base"] = base
    state["row"] = base[1]  # these four look at the storage of "base"
    state["column"] = base[:, 2]
    state["transposed"] = base.t()
    state["expanded"] = base[0, 1].expand(2, 3)
    state["channels_last"] = torch.randn(2, 3, 2, 2).to(memory_format=torch.channels_last)
    state["one_by_one"] = torch.randn(4, 3, 1, 1).to(memory_format=torch.channels_last)
    state["scalar"] = torch.tensor(7)
    state["empty"] = torch.zeros(0, 5)
    state["empty_view"] = base[3:]
    for dtype in (
        "float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
    ):
        state[dtype] = torch.tensor([0, 1, 3]).to(getattr(torch, dtype))
    state["float64"] = torch.tensor([1 / 3, -1e300], dtype=torch.float64)
    state["int64"] = torch.tensor([-(2**40), 2**52])
    state["bfloat16"] = torch.tensor([1.5, -0.25]).bfloat16()
    state["naïve 名前"] = torch.ones(1)
    state["num_batches_tracked"] = 3  # not a tensor: left out
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    return state


def expected(state):
    out = {}
    for name, value in state.items():
        if not isinstance(value, torch.Tensor):
            continue
        values = value.detach()
        values = torch.view_as_real(values) if values.is_complex() else values
        out[name] = {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "contiguous": value.is_contiguous(),
            "values": values.double().flatten().tolist(),
        }
    return out


def save(value, name, **options):
    # Through a buffer, so that no file name of this machine gets into the file.
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    (folder / name).write_bytes(buffer.getvalue())


state = state_dict()
save(state, "zip.pth")
save(state, "legacy.pth", _use_new_zipfile_serialization=False)
(folder / "expected.json").write_text(json.dumps(expected(state), indent=1, ensure_ascii=False) + "\n")

small = collections.OrderedDict(weight=torch.nn.Parameter(torch.tensor([[1.0, 2.0]])), steps=torch.tensor(5))
for protocol in (1, 3, 4, 5):
    save(small, f"zip-protocol-{protocol}.pth", pickle_protocol=protocol)
    save(small, f"legacy-protocol-{protocol}.pth", pickle_protocol=protocol, _use_new_zipfile_serialization=False)

# A checkpoint as DomainBed writes it, and one as the PyTorch ImageNet example does, with all that travels along.
save(
    {
        "args": {"dataset": "PACS", "test_envs": [0], "holdout_fraction": 0.2, "steps": None, "skip": False},
        "model_input_shape": (3, 224, 224),
        "model_num_classes": 7,
        "model_hparams": {"lr": 5e-5, "resnet18": True, "data_augmentation": True},
        "model_dict": small,
    },
    "domainbed.pth",
)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(1, 2)).sum().backward()
optimizer.step()
save(
    {
        "epoch": 3,
        "state_dict": net.state_dict(),
        "best_acc1": torch.tensor(76.1),
        "optimizer": optimizer.state_dict(),
        "rng": random.Random(0).getstate(),
        "device": torch.device("cpu"),
        "dtype": torch.float16,
        "size": torch.Size([1, 2]),
        "seen": {1, 2},
        "counts": collections.Counter("aab"),
        "blob": b"\x00\xff",
        "array": bytearray(b"ab"),
        "complex": 1j,
        "large": 2**70,
    },
    "checkpoint.pth",
)

# What is refused, each by its name.
save({"a": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)}, "quantized.pth")
save({"a": torch.eye(2).to_sparse()}, "sparse.pth")
save({"a": torch.ones(2, device="meta")}, "meta.pth")
save({"a": torch.ones(2, dtype=torch.complex128)}, "complex128.pth")
save(net, "module.pth")
save(torch.ones(2), "tensor.pth")
torch.jit.save(torch.jit.script(torch.nn.Identity()), str(folder / "script.pt"))
