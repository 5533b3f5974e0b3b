"""Makes algorithms_updates.safetensors: parameters and buffers after one update and after five, predictions and logs of the
algorithms that own their updates or need more than a backbone and a head, computed in float64 with torch alone.

Written after the formulas of the methods, in their plainest form: networks are copied where a method speaks of a copy,
and nothing is saved. Inputs come by formula.py; starting states and random draws are stored. (Matrices by the formula are of
low rank, and so would the features be: the nuclear norm has no unique gradient there.) Run:
python3 tests/vectors/algorithms_updates.py
"""

import copy
import itertools
import json
import pathlib
import random
import zlib

import torch
from torch import nn
from torch.nn import functional as F

from formula import formula, formula_state
from safetensors_writer import save

UPDATES, DOMAINS, CLASSES = 5, 3, 3
LR, WEIGHT_DECAY, BATCH = 0.01, 0.001, 4
WIDTHS = {"mlp": 6, "toy-cnn": 8}
torch.set_default_dtype(torch.float64)


class Mlp(nn.Module):
    def __init__(self, inputs, width, outputs, depth=3):
        super().__init__()
        self.input = nn.Linear(inputs, width)
        self.hiddens = nn.ModuleList(nn.Linear(width, width) for _ in range(depth - 2))
        self.output = nn.Linear(width, outputs)

    def forward(self, x):
        for layer in (self.input, *self.hiddens):
            x = layer(x).relu()
        return self.output(x)


class ToyCnn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.stem, self.stage1 = nn.Conv2d(channels, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.stage2, self.stage3 = nn.Conv2d(4, 6, 3, 2, padding=1), nn.Conv2d(6, 8, 3, 2, padding=1)

    def forward(self, x, on_stage=lambda x, stage: x):
        for stage, layer in enumerate((self.stem, self.stage1, self.stage2, self.stage3)):
            x = on_stage(layer(x).relu(), stage)
        return x.mean((2, 3))


starts = {}


def start(nets):
    """Sets all of the networks' state, each tensor by its name and shape, and stores it."""
    for name, target in nets.state_dict().items():
        if len(target.shape) < 2:
            value = formula_state(name, tuple(target.shape))
        else:
            key = f"{name} {list(target.shape)}"
            generator = torch.Generator().manual_seed(zlib.crc32(key.encode()))
            value = torch.randn(target.shape, generator=generator) / target[0].numel() ** 0.5
            value = value.float().double()  # so that float32 starts at the same point
            starts[f"start/{name}/{'x'.join(map(str, target.shape))}"] = value
        with torch.no_grad():
            target.copy_(value)


class Draws:
    """Draws at random and writes down, by name, what came."""

    def __init__(self, seed):
        self.random, self.record = random.Random(seed), {}

    def note(self, name, value):
        self.record.setdefault(name, []).append(value)
        return value

    def permutation(self, name, n):
        order = list(range(n))
        self.random.shuffle(order)
        return self.note(name, order)

    def uniform(self, name):
        return self.note(name, self.random.random())

    def uniforms(self, name, rows):
        return torch.tensor(self.note(name, [[self.random.random()] for _ in range(rows)]))

    def beta(self, name, a, b):
        return self.note(name, self.random.betavariate(a, b))


class Run:
    """What the updates below are given: networks by name, hyperparameters, and the penalty of the case."""

    def __init__(self, case):
        self.h = {**case.get("hparams", {})}
        self.weight, self.scaling = case.get("penalty", (0, "sum"))
        self.backbone_id, self.draws = case["backbone"], None
        width = WIDTHS[self.backbone_id]
        self.width, self.step, self.memory = width, 0, {}
        extra = 1 if case["algorithm"] == "arm" else 0
        make = lambda: Mlp(5, width, width) if self.backbone_id == "mlp" else ToyCnn(3 + extra)
        self.nets = nn.ModuleDict({"backbone": make(), "classifier": nn.Linear(width, CLASSES)})
        algorithm = case["algorithm"]
        if algorithm in ("dann", "cdann"):
            self.nets["discriminator"] = Mlp(width, self.h["mlpWidth"], DOMAINS, self.h["mlpDepth"])
        if algorithm == "cdann":
            self.nets["classEmbeddings"] = nn.Embedding(CLASSES, width)
        if algorithm == "sag-net":
            self.nets["styleHead"] = nn.Linear(width, CLASSES)
        if algorithm == "mdsdi":
            self.nets["specific"] = make()
            self.nets["classifier"] = nn.Linear(2 * width, CLASSES)
            self.nets["discriminator"] = Mlp(width, width, DOMAINS)
            self.nets["domainClassifier"] = nn.Linear(width, DOMAINS)
        if algorithm == "arm":
            c = self.h["contextWidth"]
            self.nets["context"] = nn.Sequential(
                *(nn.Conv2d(3, c, 5, padding=2), nn.BatchNorm2d(c), nn.ReLU()),
                *(nn.Conv2d(c, c, 5, padding=2), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 1, 5, padding=2)),
            )
        if algorithm == "miro":
            self.nets["frozen"] = make()
            channels = (4, 4, 6, 8)[1 if self.h["stages"] == "block" else 0 :]
            self.nets["variances"] = nn.ModuleList()
            for count in channels:
                holder = nn.Module()
                holder.bias = nn.Parameter(torch.empty(1, count, 1, 1))
                self.nets["variances"].append(holder)
        start(self.nets)
        self.start = {name: value.clone() for name, value in self.nets.state_dict().items()}

    def parameters(self, *names):
        return [parameter for name in names for parameter in self.nets[name].parameters()]

    def optimizer(self, key, parameters, **settings):
        """The one made at the first update, and the same at the next."""
        if key not in self.memory:
            self.memory[key] = torch.optim.Adam(parameters, **{"lr": LR, "weight_decay": WEIGHT_DECAY, **settings})
        return self.memory[key]

    def penalty(self, z):
        if self.weight == 0:
            return 0
        norm = torch.linalg.svdvals(z).sum()
        return self.weight * (norm / len(z) if self.scaling == "per-sample" else norm)

    def loss(self, x, y, nets=None):
        nets = nets or self.nets
        z = nets["backbone"](x)
        return F.cross_entropy(nets["classifier"](z), y) + self.penalty(z)

    def predict(self, x):
        return self.nets["classifier"](self.nets["backbone"](x))


def joined(batch):
    return torch.cat([x for x, _ in batch]), torch.cat([y for _, y in batch])


def sam(run, batch):
    x, y = joined(batch)
    parameters = run.parameters("backbone", "classifier")
    optimizer = run.optimizer("main", parameters)
    gradients = torch.autograd.grad(run.loss(x, y), parameters)
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    away = [run.h["rho"] * gradient / norm for gradient in gradients]
    with torch.no_grad():
        for parameter, step in zip(parameters, away):
            parameter += step
    optimizer.zero_grad()
    loss = run.loss(x, y)
    loss.backward()
    with torch.no_grad():
        for parameter, step in zip(parameters, away):
            parameter -= step
    optimizer.step()
    return {"loss": loss}


def moved(parameters, steps, compute):
    """What is computed at other weights, in a copy that is put back."""
    before = [parameter.detach().clone() for parameter in parameters]
    with torch.no_grad():
        for parameter, step in zip(parameters, steps):
            parameter += step
    value = compute()
    with torch.no_grad():
        for parameter, old in zip(parameters, before):
            parameter.copy_(old)
    return value


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def step_with(optimizer, parameters, gradients):
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient.clone()
    optimizer.step()


def sagm(run, batch):
    x, y = joined(batch)
    parameters = run.parameters("backbone", "classifier")
    loss = run.loss(x, y)
    g = torch.autograd.grad(loss, parameters)
    scale = run.h["rho"] / flat(g).norm() - run.h["alpha"]
    p = moved(parameters, [scale * each for each in g], lambda: torch.autograd.grad(run.loss(x, y), parameters))
    step_with(run.optimizer("main", parameters), parameters, [(a + b) / 2 for a, b in zip(g, p)])
    return {"loss": loss}


def gsam(run, batch):
    x, y = joined(batch)
    parameters = run.parameters("backbone", "classifier")
    loss = run.loss(x, y)
    g = torch.autograd.grad(loss, parameters)
    scale = run.h["rho"] / flat(g).norm()
    p = moved(parameters, [scale * each for each in g], lambda: torch.autograd.grad(run.loss(x, y), parameters))
    cosine = F.cosine_similarity(flat(g), flat(p), dim=0)
    vertical = [a - cosine * flat(g).norm() * b / flat(p).norm() for a, b in zip(g, p)]
    descent = [b - run.h["alpha"] * v for b, v in zip(p, vertical)]
    step_with(run.optimizer("main", parameters), parameters, descent)
    return {"loss": loss}


def disam(run, batch):
    x, y = joined(batch)
    parameters = run.parameters("backbone", "classifier")
    losses = [F.cross_entropy(run.predict(x_e), y_e) for x_e, y_e in batch]
    mean = sum(losses) / len(losses)
    variance = sum((each - mean) ** 2 for each in losses) / len(losses)
    g = torch.autograd.grad(run.loss(x, y) - run.h["lambda"] * variance, parameters)
    scale = run.h["rho"] / flat(g).norm()

    def at_moved():
        loss = run.loss(x, y)
        return loss, torch.autograd.grad(loss, parameters)

    loss, p = moved(parameters, [scale * each for each in g], at_moved)
    step_with(run.optimizer("main", parameters), parameters, p)
    return {"loss": loss}


def adversarial(run, batch, conditional):
    h, nets = run.h, run.nets
    x, y = joined(batch)
    d = torch.cat([torch.full((len(x_e),), e) for e, (x_e, _) in enumerate(batch)])
    disc_names = ("discriminator", "classEmbeddings") if conditional else ("discriminator",)
    betas = (h["beta1"], 0.9)
    disc = run.optimizer("disc", run.parameters(*disc_names), lr=h["lrD"], weight_decay=h["weightDecayD"], betas=betas)
    gen = run.optimizer(
        "gen", run.parameters("backbone", "classifier"), lr=h["lrG"], weight_decay=h["weightDecayG"], betas=betas
    )
    count = run.step + 1
    z = nets["backbone"](x)
    u = z + nets["classEmbeddings"](y) if conditional else z
    out = nets["discriminator"](u)
    each = F.cross_entropy(out, d, reduction="none")
    if conditional:
        one_hot = F.one_hot(y)
        weights = 1 / (one_hot.sum(0)[y] * one_hot.shape[1])
        a = (weights * each).sum()
    else:
        a = each.mean()
    if h["gradPenaltyOf"] == "cross-entropy":
        inner = F.cross_entropy(out, d, reduction="sum")
    else:
        inner = F.softmax(out, 1)[:, d].sum()
    (gradient,) = torch.autograd.grad(inner, [u], create_graph=True)
    a = a + h["gradPenalty"] * (gradient**2).sum(1).mean()
    if count % (1 + h["dStepsPerGStep"]) < h["dStepsPerGStep"]:
        disc.zero_grad()
        a.backward()
        disc.step()
        return {"disc_loss": a}
    loss = F.cross_entropy(nets["classifier"](z), y) - h["lambda"] * a + run.penalty(z)
    disc.zero_grad()
    gen.zero_grad()
    loss.backward()
    gen.step()
    return {"gen_loss": loss}


def fish(run, batch):
    inner = copy.deepcopy(run.nets)
    optimizer = torch.optim.Adam(inner.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    if "inner" in run.memory:
        optimizer.load_state_dict(run.memory["inner"])
    for x, y in batch:
        loss = run.loss(x, y, inner)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    run.memory["inner"] = copy.deepcopy(optimizer.state_dict())
    outer, reached = run.nets.state_dict(), inner.state_dict()
    run.nets.load_state_dict({k: outer[k] + run.h["metaLr"] * (reached[k] - outer[k]) for k in outer})
    return {"loss": loss}


def cyclic_pairs(run, batch):
    order = run.draws.permutation("pairs", len(batch))
    pairs = []
    for i in range(len(order)):
        (x_i, y_i), (x_j, y_j) = batch[order[i]], batch[order[(i + 1) % len(order)]]
        n = min(len(x_i), len(x_j))
        pairs.append(((x_i[:n], y_i[:n]), (x_j[:n], y_j[:n])))
    return pairs


def meta(nets, pairs, beta, loss_of):
    """Leaves the first-order meta-gradient in the networks' `.grad`; `loss_of` takes networks and samples."""
    total = 0
    for parameter in nets.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for (x_i, y_i), (x_j, y_j) in pairs:
        inner = copy.deepcopy(nets)
        optimizer = torch.optim.Adam(inner.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
        first = loss_of(inner, x_i, y_i)
        optimizer.zero_grad()
        first.backward()
        for target, source in zip(nets.parameters(), inner.parameters()):
            target.grad += source.grad / DOMAINS
        optimizer.step()
        second = loss_of(inner, x_j, y_j)
        for target, gradient in zip(nets.parameters(), torch.autograd.grad(second, list(inner.parameters()))):
            target.grad += beta * gradient / DOMAINS
        total = total + (first + beta * second) / DOMAINS
    return total.detach()


def mldg(run, batch):
    optimizer = run.optimizer("main", run.parameters("backbone", "classifier"))
    if run.h["pairing"] == "cyclic":
        pairs = cyclic_pairs(run, batch)
    else:
        order, tests = run.draws.permutation("pairs", DOMAINS), run.h["nMetaTest"]
        chosen = zip(order[: DOMAINS - tests], itertools.cycle(order[-tests:]))
        pairs = [(batch[i], batch[j]) for i, j in chosen]
    total = meta(run.nets, pairs, run.h["beta"], lambda nets, x, y: run.loss(x, y, nets))
    optimizer.step()
    return {"loss": total}


def randomize(run, z, what):
    mean, var = z.mean(1, keepdim=True), z.var(1, keepdim=True)
    normal = (z - mean) / (var + 1e-5).sqrt()
    order = run.draws.permutation("order", len(z))
    if what == "style":
        alpha = run.draws.uniforms("share", len(z))
        mean = alpha * mean + (1 - alpha) * mean[order]
        var = alpha * var + (1 - alpha) * var[order]
    else:
        normal = normal[order].detach()
    return normal * (var + 1e-5).sqrt() + mean


def sag_net(run, batch):
    x, y = joined(batch)
    nets = run.nets
    opt_f = run.optimizer("f", run.parameters("backbone"))
    opt_c = run.optimizer("c", run.parameters("classifier"))
    opt_s = run.optimizer("s", run.parameters("styleHead"))
    opt_f.zero_grad()
    opt_c.zero_grad()
    z = nets["backbone"](x)
    loss_c = F.cross_entropy(nets["classifier"](randomize(run, z, "style")), y) + run.penalty(z)
    loss_c.backward()
    opt_f.step()
    opt_c.step()
    opt_s.zero_grad()
    loss_s = F.cross_entropy(nets["styleHead"](randomize(run, nets["backbone"](x), "content")), y)
    loss_s.backward()
    opt_s.step()
    opt_f.zero_grad()
    told = nets["styleHead"](randomize(run, nets["backbone"](x), "content"))
    loss_adv = run.h["adversarialWeight"] * -F.log_softmax(told, 1).mean(1).mean()
    loss_adv.backward()
    opt_f.step()
    return {"loss_c": loss_c, "loss_s": loss_s, "loss_adv": loss_adv}


class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, gradient):
        return -gradient


def mdsdi(run, batch):
    x, y = joined(batch)
    nets = run.nets
    every = run.optimizer("all", list(nets.parameters()))
    second = run.optimizer("meta", run.parameters("specific", "classifier"))
    d = torch.cat([torch.full((len(x_e),), e) for e, (x_e, _) in enumerate(batch)])
    if run.h["domainLabels"] == "constant":
        d = torch.zeros_like(d)
    a, s = nets["backbone"](x), nets["specific"](x)
    a0, s0 = a - a.mean(0), s - s.mean(0)
    apart = (torch.einsum("ij,ik->ijk", a0, s0) ** 2).mean()
    both = torch.cat([a, s], 1)
    loss = (
        F.cross_entropy(nets["classifier"](both), y)
        + F.cross_entropy(nets["discriminator"](Reversal.apply(a)), d)
        + apart
        + F.cross_entropy(nets["domainClassifier"](s), d)
        + run.penalty(both)
    )
    every.zero_grad()
    loss.backward()
    every.step()

    def meta_loss(inner, x, y):
        z = torch.cat([nets["backbone"](x), inner["specific"](x)], 1)
        return F.cross_entropy(inner["classifier"](z), y) + run.penalty(z)

    if run.h["pairing"] == "cyclic":
        pairs = cyclic_pairs(run, batch)
    else:
        pairs = [(joined(batch[:j] + batch[j + 1 :]), batch[j]) for j in range(DOMAINS)]
    part = nn.ModuleDict({"specific": nets["specific"], "classifier": nets["classifier"]})
    total = meta(part, pairs, 1, meta_loss)
    second.step()
    return {"loss": loss.detach() + total}


def mix_style(run, batch):
    nets = run.nets
    optimizer = run.optimizer("main", list(nets.parameters()))

    def mixed(x, order_of):
        if run.draws.uniform("coin") > 0.5:
            return x
        mu, sigma = x.mean((2, 3), keepdim=True).detach(), (x.var((2, 3), keepdim=True) + 1e-6).sqrt().detach()
        lam = torch.tensor([run.draws.beta("lambda", 0.1, 0.1) for _ in range(len(x))]).view(-1, 1, 1, 1)
        order = order_of(len(x))
        mu2, sigma2 = mu[order], sigma[order]
        return (x - mu) / sigma * (lam * sigma + (1 - lam) * sigma2) + lam * mu + (1 - lam) * mu2

    def across(n):
        first, last = torch.arange(n - 1, -1, -1).chunk(2)
        first = first[run.draws.permutation("order", n // 2)]
        last = last[run.draws.permutation("order", n // 2)]
        return torch.cat([first, last])

    def forward(x, order_of):
        # Stages 1 and 2: never the last.
        return nets["backbone"](x, lambda x, stage: mixed(x, order_of) if stage in (1, 2) else x)

    if run.h["mixing"] == "random":
        x, y = joined(batch)
        z = forward(x, lambda n: run.draws.permutation("order", n))
        loss = F.cross_entropy(nets["classifier"](z), y) + run.penalty(z)
    else:
        losses, rows = [], []
        for i in range(DOMAINS):
            (x_i, y_i), (x_j, y_j) = batch[i], batch[(i + 1) % DOMAINS]
            half = len(x_i) // 2
            z = forward(torch.cat([x_i[:half], x_j[half:]]), across)
            losses.append(F.cross_entropy(nets["classifier"](z), torch.cat([y_i[:half], y_j[half:]])))
            rows.append(z)
        loss = sum(losses) / DOMAINS + run.penalty(torch.cat(rows))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss}


def with_context(run, x):
    maps = run.nets["context"](x)
    groups = maps.split(BATCH) if len(x) % BATCH == 0 else [maps]
    context = torch.cat([group.mean(0, keepdim=True).repeat(len(group), 1, 1, 1) for group in groups])
    return torch.cat([x, context], 1)


def arm(run, batch):
    names = ("backbone", "classifier", "context") if run.h["contextNet"] == "trained" else ("backbone", "classifier")
    optimizer = run.optimizer("main", run.parameters(*names))
    x, y = joined(batch)
    loss = run.loss(with_context(run, x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss}


def miro(run, batch):
    x, y = joined(batch)
    nets = run.nets
    groups = [
        {"params": run.parameters("backbone", "classifier")},
        {"params": run.parameters("variances"), "lr": LR * run.h["lrMultiplier"]},
    ]
    optimizer = run.optimizer("main", groups)

    def maps_of(network):
        maps = []
        z = network(x, lambda x, stage: maps.append(x) or x)
        return z, maps[1:] if run.h["stages"] == "block" else maps

    with torch.no_grad():
        _, targets = maps_of(nets["frozen"])
    z, maps = maps_of(nets["backbone"])
    regularization = 0
    for f, target, holder in zip(maps, targets, nets["variances"]):
        variance = F.softplus(holder.bias) + 1e-5
        regularization = regularization + ((f - target) ** 2 / variance + variance.log()).mean() / 2
    loss = F.cross_entropy(nets["classifier"](z), y) + run.h["lambda"] * regularization + run.penalty(z)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"loss": loss, "reg_loss": regularization}


UPDATE = {
    "sam": sam,
    "sagm": sagm,
    "gsam": gsam,
    "disam": disam,
    "dann": lambda run, batch: adversarial(run, batch, False),
    "cdann": lambda run, batch: adversarial(run, batch, True),
    "fish": fish,
    "mldg": mldg,
    "sag-net": sag_net,
    "mdsdi": mdsdi,
    "mix-style": mix_style,
    "arm": arm,
    "miro": miro,
}

SUM, PER_SAMPLE = (0.01, "sum"), (0.3, "per-sample")
ADVERSARIAL = {
    "lambda": 0.7,
    "lrG": 0.01,
    "lrD": 0.02,
    "weightDecayG": 0.001,
    "weightDecayD": 0.002,
    "dStepsPerGStep": 1,
    "gradPenalty": 0.0,
    "gradPenaltyOf": "cross-entropy",
    "beta1": 0.5,
    "mlpWidth": 5,
    "mlpDepth": 3,
}
CASES = {
    "sam": {"algorithm": "sam", "hparams": {"rho": 0.05}},
    "sam + nu": {"algorithm": "sam", "hparams": {"rho": 0.1}, "penalty": SUM},
    "dann": {"algorithm": "dann", "hparams": ADVERSARIAL},
    "dann + nu, penalty": {"algorithm": "dann", "hparams": {**ADVERSARIAL, "gradPenalty": 0.5}, "penalty": SUM},
    "dann, two discriminator steps": {
        "algorithm": "dann",
        "hparams": {**ADVERSARIAL, "dStepsPerGStep": 2, "mlpDepth": 4, "beta1": 0.0},
    },
    # Batches of unequal size: with equal ones this form of the penalty is a constant.
    "dann, old penalty": {
        "algorithm": "dann",
        "hparams": {**ADVERSARIAL, "gradPenalty": 5.0, "gradPenaltyOf": "softmax-columns"},
        "sizes": [4, 2, 3],
    },
    "cdann": {"algorithm": "cdann", "hparams": ADVERSARIAL},
    "cdann + nu, penalty": {
        "algorithm": "cdann",
        "hparams": {**ADVERSARIAL, "gradPenalty": 0.5},
        "penalty": PER_SAMPLE,
    },
    "fish": {"algorithm": "fish", "hparams": {"metaLr": 0.5}},
    "fish + nu": {"algorithm": "fish", "hparams": {"metaLr": 0.1}, "penalty": PER_SAMPLE},
    "mldg": {"algorithm": "mldg", "hparams": {"beta": 1.0, "nMetaTest": 2, "pairing": "cyclic"}},
    "mldg, unequal": {
        "algorithm": "mldg",
        "hparams": {"beta": 0.5, "nMetaTest": 2, "pairing": "cyclic"},
        "sizes": [4, 2, 3],
    },
    "mldg + nu, meta-test 1": {
        "algorithm": "mldg",
        "hparams": {"beta": 0.5, "nMetaTest": 1, "pairing": "meta-test"},
        "penalty": SUM,
    },
    "mldg, meta-test 2": {"algorithm": "mldg", "hparams": {"beta": 2.0, "nMetaTest": 2, "pairing": "meta-test"}},
    "sag-net": {"algorithm": "sag-net", "hparams": {"adversarialWeight": 0.1}},
    "sag-net + nu": {"algorithm": "sag-net", "hparams": {"adversarialWeight": 1.0}, "penalty": SUM},
    "mdsdi": {"algorithm": "mdsdi", "hparams": {"domainLabels": "actual", "pairing": "cyclic"}},
    "mdsdi + nu": {"algorithm": "mdsdi", "hparams": {"domainLabels": "actual", "pairing": "cyclic"}, "penalty": SUM},
    "mdsdi, constant labels, leave one out": {
        "algorithm": "mdsdi",
        "hparams": {"domainLabels": "constant", "pairing": "leave-one-out"},
    },
    "mix-style": {"algorithm": "mix-style", "hparams": {"mixing": "random"}},
    "mix-style + nu": {"algorithm": "mix-style", "hparams": {"mixing": "random"}, "penalty": SUM},
    "mix-style, cross-domain + nu": {
        "algorithm": "mix-style",
        "hparams": {"mixing": "cross-domain"},
        "penalty": PER_SAMPLE,
    },
    "arm": {"algorithm": "arm", "hparams": {"contextNet": "untrained", "contextWidth": 4}},
    "arm + nu, trained": {
        "algorithm": "arm",
        "hparams": {"contextNet": "trained", "contextWidth": 4},
        "penalty": SUM,
    },
    "arm, one group": {
        "algorithm": "arm",
        "hparams": {"contextNet": "untrained", "contextWidth": 4},
        "sizes": [4, 2, 3],
    },
    "miro": {"algorithm": "miro", "hparams": {"lambda": 0.1, "lrMultiplier": 10, "stages": "stem_block"}},
    "miro + nu, block": {
        "algorithm": "miro",
        "hparams": {"lambda": 1.0, "lrMultiplier": 3, "stages": "block"},
        "penalty": SUM,
    },
    "sagm": {"algorithm": "sagm", "hparams": {"rho": 0.05, "alpha": 0.01}},
    "sagm + nu, large alpha": {"algorithm": "sagm", "hparams": {"rho": 0.1, "alpha": 0.5}, "penalty": SUM},
    "gsam": {"algorithm": "gsam", "hparams": {"rho": 0.05, "alpha": 0.1}},
    "gsam + nu, large alpha": {"algorithm": "gsam", "hparams": {"rho": 0.5, "alpha": 2.0}, "penalty": PER_SAMPLE},
    "disam": {"algorithm": "disam", "hparams": {"rho": 0.05, "lambda": 0.1}, "sizes": [4, 2, 3]},
    "disam + nu, large lambda": {"algorithm": "disam", "hparams": {"rho": 0.1, "lambda": 5.0}, "penalty": SUM},
}
for case in CASES.values():
    case["backbone"] = "toy-cnn" if case["algorithm"] in ("mix-style", "arm", "miro") else "mlp"

SHAPES = {"mlp": (5,), "toy-cnn": (3, 8, 8)}


def labels(step, domain, rows):
    # The third update has no sample of the last class: CDANN's weights then differ.
    return [(i + domain + step) % (2 if step == 2 else CLASSES) for i in range(rows)]


def minibatches(case, step):
    shape = SHAPES[case["backbone"]]
    sizes = case.get("sizes", [BATCH] * DOMAINS)
    return [
        (formula(f"x {step} {e}", (rows, *shape), 2.0, 0.5 * e - 0.5), torch.tensor(labels(step, e, rows)))
        for e, rows in enumerate(sizes)
    ]


stored, draws, logs = {}, {}, {}
for number, (name, case) in enumerate(CASES.items()):
    run = Run(case)
    draws[name], logs[name] = [], []
    for run.step in range(UPDATES):
        run.draws = Draws(1000 * number + run.step)
        values = UPDATE[case["algorithm"]](run, minibatches(case, run.step))
        draws[name].append(run.draws.record)
        logs[name].append({key: float(value) for key, value in values.items()})
        if run.step in (0, UPDATES - 1):
            for key, value in run.nets.state_dict().items():
                if not torch.equal(value, run.start[key]):  # the rest must be as at the start
                    stored[f"{name}/{run.step + 1}/{key}"] = value.clone()
    run.nets.eval()
    probe = formula("probe", (2 * BATCH, *SHAPES[case["backbone"]]))
    with torch.no_grad():
        for rows in (2 * BATCH, 2 * BATCH - 2):
            if case["algorithm"] == "mdsdi":
                z = torch.cat([run.nets["backbone"](probe[:rows]), run.nets["specific"](probe[:rows])], 1)
                logits = run.nets["classifier"](z)
            else:
                x = probe[:rows]
                logits = run.predict(with_context(run, x) if case["algorithm"] == "arm" else x)
            stored[f"{name}/predictions of {rows}"] = logits

save(
    pathlib.Path(__file__).with_name("algorithms_updates.safetensors"),
    {**starts, **stored},
    {
        "torch": torch.__version__,
        "cases": json.dumps(CASES),
        "draws": json.dumps(draws),
        "logs": json.dumps(logs),
        "labels": json.dumps([[labels(step, e, BATCH) for e in range(DOMAINS)] for step in range(UPDATES)]),
    },
)
