"""Records parity files: what a PyTorch algorithm did in a few updates, for `nudge parity FILE` to compare a port with.

An algorithm in DomainBed's manner has `__init__(input_shape, num_classes, num_domains, hparams)`, `update(minibatches)` that
returns logs, `predict(x)` and a state dict. From a file of your own, or from a checkout of DomainBed:

    python3 record_parity.py mine.py:MyMethod --id my-method --hparams '{"lr": 0.01, "my_weight": 2}' --out my-method.safetensors
    python3 record_parity.py /path/to/DomainBed:IGA --id iga --hparams '{"lr": 0.01, "penalty": 10}' --out iga.safetensors

Vectors of 5 numbers, 3 classes and 3 domains are made up; everything runs in float64. Classes are unevenly frequent and one is
missing in the first domain, because what depends on their frequency cancels where all are equal; the last updates have 7 samples
per domain and not 4, because a wrong factor of the size of a batch is invisible where all have the same. Names of the state are
rewritten by --rename (pattern=replacement, as Python's re.sub; an empty result drops the tensor) after the usual ones:
`featurizer.` becomes `backbone.`, and what stands under `network.` again is dropped. Draws of torch.randperm, torch.rand,
torch.randn, numpy.random.randint and numpy.random.beta are recorded in order. docs/porting.md describes the file.

As a library: `Recorder` takes any functions in the place of a class, and draws by name.
"""

import argparse
import contextlib
import importlib.util
import json
import pathlib
import re
import struct
import sys
import types

import numpy
import torch

FORMAT = 1
USUAL_NAMES = [(r"^featurizer\.", "backbone."), (r"^network\..*", ""), (r"^update_count$", "")]
# What DomainBed's networks read besides an algorithm's own hyperparameters.
NETWORK = {"mlp_width": 6, "mlp_depth": 3, "mlp_dropout": 0.0, "nonlinear_classifier": False, "class_balanced": False}
NETWORK |= {"freeze_bn": True, "lars": False, "linear_steps": 500, "batch_size": 4, "weight_decay": 0.0}
DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}


def save(path, tensors, metadata):
    """Writes a safetensors file; the same bytes for the same input."""
    header, parts, end = {"__metadata__": metadata}, [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + len(data)]}
        end += len(data)
        parts.append(data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


class Draws:
    """The draws of one update, by name: as this project asks for them."""

    def __init__(self):
        self.record = {}

    def keep(self, name, value):
        if name == "permutation" and value.numel() < 2:
            return value  # nothing was drawn
        uses = self.record.setdefault(name, [])
        uses.append(torch.as_tensor(value).clone())
        return value

    @contextlib.contextmanager
    def intercept(self):
        """Records what the usual functions return while the context lasts, under the kind of the draw."""
        places = [
            (torch, "randperm", "permutation"),
            (torch, "rand", "uniform"),
            (torch, "randn", "normal"),
            (numpy.random, "randint", "integer"),
            (numpy.random, "beta", "beta"),
        ]
        originals = [(module, name, getattr(module, name)) for module, name, _ in places]
        for (module, name, kind), (_, _, original) in zip(places, originals):
            setattr(module, name, lambda *args, _of=original, _as=kind, **more: self.keep(_as, _of(*args, **more)))
        try:
            yield self
        finally:
            for module, name, original in originals:
                setattr(module, name, original)


class Recorder:
    """Cases of one file. `shared` tensors, such as `batch/0/0/x`, stand for all cases."""

    def __init__(self, source, shared=None):
        self.tensors = {name: value.clone() for name, value in (shared or {}).items()}
        self.shared, self.cases = set(self.tensors), {}
        self.source = source

    def case(self, name, about, *, batches, update, state, predict, probe, recorded=(1, 5)):
        """Runs a case. `update(minibatches, draws)` returns logs, `state()` a dict of tensors, `predict(x)` logits."""
        start = {key: value.clone() for key, value in state().items()}
        self.put(name, {f"start/{key}": value for key, value in start.items()})
        logs = []
        for step, batch in enumerate(batches):
            self.put(name, {f"batch/{step}/{e}/{part}": value for e, pair in enumerate(batch) for part, value in zip("xy", pair)})
            draws = Draws()
            logs.append({key: float(value) for key, value in update(batch, draws).items()})
            for draw, uses in draws.record.items():
                self.put(name, {f"draw/{step}/{draw}/{use}": value for use, value in enumerate(uses)})
            if step + 1 in recorded:
                moved = {key: value for key, value in state().items() if not torch.equal(value, start[key])}
                # One tensor at least, so that it is known that this state was recorded.
                moved = moved or dict([next(iter(start.items()))])
                self.put(name, {f"after/{step + 1}/{key}": value.clone() for key, value in moved.items()})
        with torch.no_grad():
            self.put(name, {"predict/x": probe, "predict/logits": predict(probe)})
        self.cases[name] = {**about, "domains": len(batches[0]), "updates": len(batches), "logs": logs}

    def put(self, name, tensors):
        for key, value in tensors.items():
            if key in self.shared and torch.equal(self.tensors[key], value):
                continue
            self.tensors[f"{name}/{key}"] = value.detach().clone()

    def save(self, path):
        about = {"format": FORMAT, "source": self.source, "cases": self.cases}
        save(path, self.tensors, {"nudge-parity": json.dumps(about)})


def renamed(state, rules):
    """The state with its names rewritten; a name that becomes empty is dropped."""
    out = {}
    for name, value in state.items():
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        if name:
            out[name] = value
    return out


def made_labels(rows, classes, without_last, generator):
    """Class c is drawn classes - c times as often as the last one, which can be missing."""
    weights = torch.arange(classes, 0, -1, dtype=torch.float64)
    if without_last:
        weights[-1] = 0
    return torch.multinomial(weights, rows, replacement=True, generator=generator)


def made_batches(updates=5, domains=3, rows=4, inputs=5, classes=3, seed=0, last_rows=7):
    """Made-up minibatches: a domain is a shift of the inputs. Those after the first half of the updates have `last_rows` rows."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for step in range(updates):
        own = rows if step <= updates // 2 else last_rows
        while True:
            labels = [made_labels(own, classes, e == 0, generator) for e in range(domains)]
            counts = torch.cat(labels).bincount(minlength=classes)
            if len(set(counts.tolist())) == classes and counts.min() > 0:
                break
        x = [torch.randn(own, inputs, generator=generator, dtype=torch.float64) + 0.5 * e for e in range(domains)]
        batches.append(list(zip(x, labels)))
    return batches


def made_probe(rows=6, inputs=5, seed=1):
    return torch.randn(rows, inputs, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def load_class(where):
    """A class of a file, or of a checkout of DomainBed."""
    path, _, name = where.rpartition(":")
    place = pathlib.Path(path)
    if place.is_dir():
        sys.path.insert(0, str(place))
        # Not needed by algorithms on vectors, and often not installed.
        for module in ("timm", "wilds"):
            if module not in sys.modules and importlib.util.find_spec(module) is None:
                sys.modules[module] = types.ModuleType(module)
        from domainbed import algorithms as module
    else:
        spec = importlib.util.spec_from_file_location("ported", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, name)


def on_the_host():
    """Some of DomainBed's algorithms move their parts to a GPU unasked; here they stay."""
    torch.Tensor.cuda = lambda self, *_, **__: self
    torch.nn.Module.cuda = lambda self, *_, **__: self


def record_class(recorder, name, algorithm_class, about, hparams, batches, probe, rules=(), more=None, prepare=None):
    """A case from a class in DomainBed's manner. `more(algorithm)` adds to the state, `prepare(algorithm)` runs before."""
    inputs, classes = batches[0][0][0].shape[1:], about["classes"]
    torch.manual_seed(len(name) + 17)
    algorithm = algorithm_class(tuple(inputs), classes, len(batches[0]), {**NETWORK, **hparams})
    algorithm.train()
    if prepare:
        prepare(algorithm)

    def update(batch, draws):
        with draws.intercept():
            return algorithm.update(batch)

    def state():
        own = renamed(algorithm.state_dict(), [*USUAL_NAMES, *rules])
        return {**own, **(more(algorithm) if more else {})}

    def predict(x):
        algorithm.eval()
        return algorithm.predict(x)

    recorder.case(name, {**about, "hparams": hparams}, batches=batches, update=update, state=state, predict=predict, probe=probe)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("algorithm", help="FILE:CLASS, or CHECKOUT:CLASS for one of DomainBed's")
    parser.add_argument("--id", required=True, help="the algorithm's name in nudge")
    parser.add_argument("--hparams", type=json.loads, default={}, help="JSON; passed to the class and written to the file")
    parser.add_argument("--rename", action="append", default=[], metavar="PATTERN=REPLACEMENT")
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--width", type=int, default=6, help="of the MLP that is the backbone (default: 6)")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    on_the_host()
    found = load_class(options.algorithm)
    NETWORK["mlp_width"] = options.width
    recorder = Recorder(f"{options.algorithm.rpartition(':')[2]}, torch {torch.__version__}")
    about = {
        "algorithm": options.id,
        "backbone": {"id": "mlp", "inputShape": [5], "width": options.width, "depth": 3},
        "classes": 3,
    }
    rules = [tuple(rule.split("=", 1)) for rule in options.rename]
    record_class(recorder, options.id, found, about, options.hparams, made_batches(options.updates), made_probe(), rules)
    recorder.save(options.out)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
