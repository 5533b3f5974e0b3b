"""Five steps of every optimizer in PyTorch: python3 optim.py writes optim.safetensors beside it."""

import json
import pathlib

import torch
from formula import formula
from safetensors_writer import save

STEPS = 5
SHAPES = {"weight": (3, 4), "bias": (4,), "scale": (), "late": (2, 2)}
WITHOUT_GRADIENT = {"late": (0, 1, 3)}  # steps at which a parameter has none

# Settings by PyTorch's names; "groups" splits the parameters in two; "halve" halves every rate before that step.
CASES = {
    "adam": {"optimizer": "Adam", "lr": 0.01},
    "adam, weight decay": {"optimizer": "Adam", "lr": 0.01, "weight_decay": 0.1},
    "adam, betas and eps": {"optimizer": "Adam", "lr": 0.01, "betas": [0.5, 0.9], "eps": 1e-3},
    "adam, beta 0": {"optimizer": "Adam", "lr": 0.01, "betas": [0.0, 0.99]},
    "adam, groups": {"optimizer": "Adam", "lr": 0.01, "groups": {"lr": 0.05, "weight_decay": 0.2}},
    "adam, schedule": {"optimizer": "Adam", "lr": 0.01, "halve": 3},
    "adamw": {"optimizer": "AdamW", "lr": 0.01},
    "adamw, no decay": {"optimizer": "AdamW", "lr": 0.01, "weight_decay": 0.0},
    "adamw, groups": {"optimizer": "AdamW", "lr": 0.01, "groups": {"lr": 0.05, "weight_decay": 0.2}},
    "sgd": {"optimizer": "SGD", "lr": 0.1},
    "sgd, weight decay": {"optimizer": "SGD", "lr": 0.1, "weight_decay": 0.1},
    "sgd, momentum": {"optimizer": "SGD", "lr": 0.1, "momentum": 0.9},
    "sgd, nesterov": {"optimizer": "SGD", "lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "sgd, groups": {"optimizer": "SGD", "lr": 0.1, "momentum": 0.9, "groups": {"lr": 0.02, "momentum": 0.5}},
    "sgd, schedule": {"optimizer": "SGD", "lr": 0.1, "momentum": 0.9, "halve": 2},
}


def run(name, case, dtype, out):
    settings = dict(case)
    kind = getattr(torch.optim, settings.pop("optimizer"))
    second, halve = settings.pop("groups", None), settings.pop("halve", None)
    parameters = {key: formula(key, shape).to(dtype).requires_grad_() for key, shape in SHAPES.items()}
    listed = list(parameters.values())
    groups = [{"params": listed[:2]}, {"params": listed[2:], **second}] if second else listed
    optimizer = kind(groups, **settings)
    for step in range(STEPS):
        if step == halve:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        for key, parameter in parameters.items():
            if step in WITHOUT_GRADIENT.get(key, ()):
                parameter.grad = None
            else:
                # Depends on where the parameter is, so that an early error grows.
                parameter.grad = (formula(f"{key} {step}", SHAPES[key]).to(dtype) + parameter.detach() / 2)
        optimizer.step()
        for key, parameter in parameters.items():
            out[f"{name}/{str(dtype)[6:]}/{step}/{key}"] = parameter.detach().clone()
    for key, parameter in parameters.items():
        for what, value in optimizer.state[parameter].items():
            if torch.is_tensor(value) and what != "step":
                out[f"{name}/{str(dtype)[6:]}/state/{key}.{what}"] = value.clone()


vectors = {}
for name, case in CASES.items():
    for dtype in (torch.float64, torch.float32):
        run(name, case, dtype, vectors)
save(
    pathlib.Path(__file__).with_name("optim.safetensors"),
    vectors,
    {"torch": torch.__version__, "cases": json.dumps(CASES), "without gradient": json.dumps(WITHOUT_GRADIENT)},
)
