"""Makes parity_formulas.safetensors: the algorithms that parity_domainbed.py records, computed from the formulas of their papers
with torch alone, in float64: with the nuclear norm added, and with the switches that DomainBed's code does not have.

    python3 tests/vectors/parity_formulas.py

Written in their plainest form, one sample or one domain at a time, gradients by autograd; nothing is shared with src/.
"""

import copy
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "porting"))
from record_parity import Recorder, made_batches, made_probe  # noqa: E402

torch.set_default_dtype(torch.float64)
LR, DECAY, WIDTH, CLASSES, DOMAINS = 0.01, 0.001, 6, 3, 3
BATCHES, PROBE = made_batches(seed=5), made_probe(seed=6)


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


def deep(outputs):
    half, quarter = WIDTH // 2, WIDTH // 4
    return nn.Sequential(nn.Linear(WIDTH, half), nn.ReLU(), nn.Linear(half, quarter), nn.ReLU(), nn.Linear(quarter, outputs))


class Run:
    """Networks under this project's names, an Adam, and the nuclear norm of features where the case has one."""

    def __init__(self, hparams, weight):
        self.h, self.weight, self.step = hparams, weight, 0
        self.nets = nn.ModuleDict({"backbone": Mlp(5, WIDTH, WIDTH), "classifier": nn.Linear(WIDTH, CLASSES)})
        self.adam = self.new_adam()
        self.extra = lambda: {}
        self.predict = lambda x: self.nets["classifier"](self.nets["backbone"](x))

    def new_adam(self, lr=LR, *names, **settings):
        parameters = [p for name in names or ("backbone", "classifier") for p in self.nets[name].parameters()]
        return torch.optim.Adam(parameters, **{"lr": lr, "weight_decay": DECAY, **settings})

    def penalty(self, z):
        return self.weight * torch.linalg.svdvals(z).sum() / len(z) if self.weight else 0

    def minimise(self, loss, optimizer=None):
        optimizer = optimizer or self.adam
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def joint(self, batch):
        z = self.nets["backbone"](torch.cat([x for x, _ in batch]))
        return z, self.nets["classifier"](z), torch.cat([y for _, y in batch])

    def by_domain(self, batch):
        z = [self.nets["backbone"](x) for x, _ in batch]
        return z, [F.cross_entropy(self.nets["classifier"](own), y) for own, (_, y) in zip(z, batch)]

    def everything(self):
        return [*self.nets["backbone"].parameters(), *self.nets["classifier"].parameters()]


def domain_labels(batch):
    return torch.tensor([e for e, (x, _) in enumerate(batch) for _ in x])


def sd(run):
    def update(batch, draws):
        z, logits, y = run.joint(batch)
        penalty = sum(l**2 for l in logits.flatten()) / logits.numel()
        run.minimise(F.cross_entropy(logits, y) + run.h["penaltyWeight"] * penalty + run.penalty(z))
        return {"penalty": penalty}

    return update


def sand_mask(run):
    def update(batch, draws):
        z, losses = run.by_domain(batch)
        all_z = torch.cat(z)
        gradients = [torch.autograd.grad(loss, run.everything(), retain_graph=True) for loss in losses]
        more = torch.autograd.grad(run.penalty(all_z), run.everything(), allow_unused=True)
        for i, parameter in enumerate(run.everything()):
            g = [own[i] for own in gradients]
            mean = sum(g) / DOMAINS
            variance = sum((own - mean) ** 2 for own in g) / (DOMAINS - 1)
            votes = (sum(own.sign() for own in g) / DOMAINS).abs()
            mask = (run.h["k"] * (votes - run.h["tau"]) / variance).tanh().clamp(min=0).nan_to_num(1e-17)
            parameter.grad = mask * mean / (1e-10 + mask.mean()) + (0 if more[i] is None else more[i])
        run.adam.step()
        return {"loss": sum(losses) / DOMAINS}

    return update


def iga(run):
    def update(batch, draws):
        z, losses = run.by_domain(batch)
        gradients = [torch.autograd.grad(loss, run.everything(), create_graph=True) for loss in losses]
        flat = [torch.cat([g.flatten() for g in own]) for own in gradients]
        mean = sum(flat) / DOMAINS  # with its graph: a constant in the library
        spread = sum(((own - mean) ** 2).sum() for own in flat)
        run.minimise(sum(losses) / DOMAINS + run.h["penaltyWeight"] * spread + run.penalty(torch.cat(z)))
        return {"penalty": spread}

    return update


def bottleneck(run, with_irm):
    def update(batch, draws):
        h = run.h
        z, logits, _ = run.joint(batch)
        loss, start = run.penalty(z), 0
        for _, y in batch:
            own, l = z[start : start + len(y)], logits[start : start + len(y)]
            start += len(y)
            spread = ((own - own.mean(0)) ** 2).sum(0).mean() / (len(y) - 1)
            loss = loss + F.cross_entropy(l, y) / DOMAINS
            loss = loss + (h["bottleneckWeight"] if run.step >= h["bottleneckSteps"] else 0) * spread / DOMAINS
            if with_irm:
                scale = torch.tensor(1.0, requires_grad=True)
                one = torch.autograd.grad(F.cross_entropy(l[::2] * scale, y[::2]), scale, create_graph=True)[0]
                two = torch.autograd.grad(F.cross_entropy(l[1::2] * scale, y[1::2]), scale, create_graph=True)[0]
                loss = loss + (h["penaltyWeight"] if run.step >= h["annealSteps"] else 1) * one * two / DOMAINS
        if run.step in (h["bottleneckSteps"], h.get("annealSteps")):
            run.adam = run.new_adam()
        run.minimise(loss)
        return {"loss": loss - run.penalty(z)} if not run.weight else {}

    return update


def cad(run, conditional):
    h = run.h
    if h.get("project"):
        run.nets["projector"] = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 128))
        run.adam = run.new_adam(LR, "backbone", "classifier", "projector")

    def update(batch, draws):
        z, logits, y = run.joint(batch)
        d, temperature = domain_labels(batch), h.get("temperature", 0.1)
        v = run.nets["projector"](z) if h.get("project") else z
        v = F.normalize(v, dim=1) if h.get("normalize") else v
        terms = []
        for i in range(len(y)):
            classmates = [j for j in range(len(y)) if j != i and y[j] == y[i]]
            others = classmates if conditional else [j for j in range(len(y)) if j != i]
            side = [j for j in others if (d[j] != d[i]) == h.get("flip", True)]
            if not classmates or not side:
                continue
            score = lambda j: torch.dot(v[i], v[j]) / temperature
            log_share = torch.logsumexp(torch.stack([score(j) for j in side]), 0)
            log_share = log_share - torch.logsumexp(torch.stack([score(j) for j in others]), 0)
            terms.append(temperature / 0.07 * (-log_share if h.get("flip", True) else log_share))
        measure = sum(terms) / len(terms) if terms else 0
        run.minimise(F.cross_entropy(logits, y) + h["lambda"] * measure + run.penalty(z))
        return {"bn_loss": measure}

    return update


def causirl(run, distance):
    def update(batch, draws):
        z, losses = run.by_domain(batch)
        first, second = [], []
        for own in z:
            cut = int(draws.keep("cut", torch.randint(len(own), ())))
            first.append(own[:cut])
            second.append(own[cut:])
        a, b = torch.cat(first), torch.cat(second)
        apart = distance(a, b) if min(len(a), len(b)) > 1 else torch.tensor(0.0)
        run.minimise(sum(losses) / DOMAINS + run.h["gamma"] * apart + run.penalty(torch.cat(z)))
        return {"penalty": apart}

    return update


def moments(a, b):
    return ((a.mean(0) - b.mean(0)) ** 2).mean() + ((torch.cov(a.t()) - torch.cov(b.t())) ** 2).mean()


def discrepancy(a, b, rates=(0.001, 0.01, 0.1, 1, 10, 100, 1000)):
    def kernel(x, y):
        squares = [((p**2).sum() + (q**2).sum() - 2 * torch.dot(p, q)).clamp(min=1e-30) for p in x for q in y]
        return sum(torch.exp(-g * s) for g in rates for s in squares) / len(squares)

    return kernel(a, a) + kernel(b, b) - 2 * kernel(a, b)


def eqrm(run):
    h = run.h
    phi = torch.distributions.Normal(0.0, 1.0)

    def quantile(r):
        width = 1.06 * r.std() * len(r) ** -0.2
        shift = width * phi.icdf(torch.tensor(h["quantile"]))
        low, high = r.min() + shift, r.max() + shift
        a, b = low.item(), high.item()
        cdf = lambda t: phi.cdf((t - r) / width).mean()
        for _ in range(60):
            middle = (a + b) / 2
            a, b = (a, middle) if cdf(middle) > h["quantile"] else (middle, b)
        if h.get("gradient") != "implicit":
            share = (a - low.item()) / (high.item() - low.item())
            return (1 - share) * low + share * high
        t = torch.tensor(a, requires_grad=True)
        (density,) = torch.autograd.grad(cdf(t), t, retain_graph=True)
        return a - (cdf(a) - cdf(a).detach()) / density.detach()

    def update(batch, draws):
        z, losses = run.by_domain(batch)
        r = torch.stack(losses)
        loss = r.mean() if run.step < h["burnInSteps"] else quantile(r)
        if run.step == (math.ceil(h["burnInSteps"]) if h.get("optimizerReset") == "reached" else h["burnInSteps"]):
            run.adam = run.new_adam(h["quantileLr"])
        run.minimise(loss + run.penalty(torch.cat(z)))
        return {}

    return update


def rdm(run):
    h = run.h

    def update(batch, draws):
        z, logits, y = run.joint(batch)
        rho = F.cross_entropy(logits, y, reduction="none").view(DOMAINS, -1)
        worst = rho[max(range(DOMAINS), key=lambda e: float(rho[e].mean()))]
        loss = rho.mean(1).mean()
        if run.step >= h["annealSteps"]:
            rates = (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000)
            loss = loss + h["matchingWeight"] * discrepancy(worst[:, None], rho.flatten()[:, None], rates)
            loss = loss + h["varianceWeight"] * (rho.flatten().var() + worst.var())
        if run.step == h["annealSteps"]:
            run.adam = run.new_adam(h["matchingLr"])
        run.minimise(loss + run.penalty(z))
        return {}

    return update


def trm(run):
    h = run.h
    heads = [nn.Linear(WIDTH, CLASSES) for _ in range(DOMAINS)]
    alpha = torch.ones(DOMAINS, DOMAINS) - torch.eye(DOMAINS)
    run.extra = lambda: {
        "heads.weight": torch.stack([head.weight.data for head in heads]),
        "heads.bias": torch.stack([head.bias.data for head in heads]),
        "heads.alpha": alpha.clone(),
    }

    def update(batch, draws):
        z, logits, y = run.joint(batch)
        nll = F.cross_entropy(logits, y)
        if run.step < h["startSteps"]:
            run.minimise(nll + run.penalty(z))
            return {"nll": nll}
        alpha.div_(alpha.sum(1, keepdim=True))
        parts = z.split([len(y) for _, y in batch])
        for head, own, (_, y_e) in zip(heads, parts, batch):
            sgd = torch.optim.SGD(head.parameters(), lr=0.1)
            for _ in range(30):
                run.minimise(F.cross_entropy(head(own.detach()), y_e), sgd)
        total = 0
        for q, head in enumerate(heads):
            ce = [F.cross_entropy(head(own), y_e) for own, (_, y_e) in zip(parts, batch)]
            before = alpha[q].clone()
            others = sum(before[i] * ce[i] for i in range(DOMAINS) if i != q)
            (along,) = torch.autograd.grad(ce[q], head.weight, create_graph=True)
            (p,) = torch.autograd.grad(others, head.weight, retain_graph=True)
            own_loss = lambda weight: F.cross_entropy(F.linear(parts[q].detach(), weight, head.bias), batch[q][1])
            hessian = torch.autograd.functional.hessian(own_loss, head.weight.detach()).reshape(p.numel(), p.numel())
            step = torch.eye(p.numel()) - hessian
            terms = [torch.linalg.matrix_power(step, k) @ p.flatten() for k in range(11)]
            if h["neumann"] == "aliased":
                terms[0] = terms[1]
            direction = terms[0] + terms[1]
            for term in terms[2:]:
                if direction.abs().max() > 10:
                    break
                direction = direction + term
            with torch.no_grad():
                for i in range(DOMAINS):
                    alpha[q, i] *= (h["eta"] * before[i] * ce[i]).exp()
            if h["gradientAlpha"] == "updated":
                after = alpha[q].clone()
                others = sum(after[i] * ce[i] - (after[i] - before[i]) * ce[i].detach() for i in range(DOMAINS) if i != q)
            total = total + (others - h["cosWeight"] * (direction.detach() @ along.flatten())) / DOMAINS
        run.minimise(nll + total + run.penalty(z))
        return {"nll": nll, "trm_loss": total}

    return update


def transfer(run):
    h, nets = run.h, run.nets
    nets["adversary"] = copy.deepcopy(nets["classifier"])
    if h.get("gda"):
        run.adam = torch.optim.SGD(run.everything(), lr=LR)

    def gap(batch):
        losses = [F.cross_entropy(nets["adversary"](nets["backbone"](x)), y) for x, y in batch]
        return h["lambda"] * (max(losses, key=float) - min(losses, key=float))

    def update(batch, draws):
        z, logits, y = run.joint(batch)
        loss = F.cross_entropy(logits, y) + run.penalty(z)
        run.adam.zero_grad(set_to_none=True)
        loss.backward()
        run.adam.step()
        run.adam.zero_grad(set_to_none=not h.get("headMomentum", True))
        gap(batch).backward()
        run.adam.step()
        nets["adversary"].load_state_dict(nets["classifier"].state_dict())
        sgd = torch.optim.SGD(nets["adversary"].parameters(), lr=h["adversaryLr"])
        for _ in range(h["adversarySteps"]):
            last = gap(batch)
            run.minimise(-last, sgd)
            with torch.no_grad():
                pairs = list(zip(nets["adversary"].parameters(), nets["classifier"].parameters()))
                distance = torch.cat([(a - w).flatten() for a, w in pairs]).norm()
                if distance > h["delta"]:
                    for a, w in pairs:
                        a.copy_(w + h["delta"] / distance * (a - w))
        return {"loss": loss, "gap": last}

    return update


def adrmx(run):
    h, nets = run.h, run.nets
    nets["classifier"] = deep(CLASSES)
    nets["domainBackbone"], nets["discriminator"] = Mlp(5, WIDTH, WIDTH), Mlp(WIDTH, h["mlpWidth"], DOMAINS, h["mlpDepth"])
    nets["differenceClassifier"], nets["domainClassifier"] = deep(CLASSES), deep(DOMAINS)
    settings = {"betas": (h["beta1"], 0.9), "weight_decay": 0}
    disc = run.new_adam(LR, "discriminator", **settings)
    gen = run.new_adam(LR, "backbone", "domainBackbone", "classifier", "differenceClassifier", "domainClassifier", **settings)

    def contrast(v, y):
        v = F.normalize(v, dim=1)
        total, rows = 0, 0
        for i in range(len(y)):
            positives = [j for j in range(len(y)) if j != i and y[j] == y[i]]
            if not positives:
                continue
            rows += 1
            score = lambda j: 0.5 * torch.exp(torch.dot(v[i], v[j]) / 0.07)
            below = sum(score(j) for j in range(len(y)) if j != i) + 1e-5
            total = total - sum(torch.log(score(j) / below + 1e-5) for j in positives) / len(positives)
        return total / (rows + 1)

    def update(batch, draws):
        x, y, d = torch.cat([x for x, _ in batch]), torch.cat([y for _, y in batch]), domain_labels(batch)
        a, b = nets["backbone"](x), nets["domainBackbone"](x)
        told = F.cross_entropy(nets["discriminator"](a - b), d)
        if (run.step + 1) % (1 + h["dStepsPerGStep"]) < h["dStepsPerGStep"]:
            run.minimise(told, disc)
            return {"loss_disc": told}
        remixed = 0
        for label in range(CLASSES):
            members = [i for i in range(len(y)) if y[i] == label]
            if len(members) < 2:
                continue
            order = draws.keep("remix", torch.randperm(len(members))).tolist()
            i, j = order[0], order[1]
            if h["remix"] == "same-class":
                i = members[order[0]]
                j = next((members[k] for k in order if d[members[k]] != d[i]), None)
            if j is not None:
                remixed = remixed + F.cross_entropy(nets["classifier"]((a - b)[i] + b[j]), y[i]) / CLASSES
        loss = (
            F.cross_entropy(nets["classifier"](a), y)
            + F.cross_entropy(nets["differenceClassifier"](a - b), y)
            + h["domainWeight"] * F.cross_entropy(nets["domainClassifier"](b), d)
            + h["remixWeight"] * remixed
            + h["contrastWeight"] * (contrast(a, y) + contrast(a - b, y))
            - h["discriminatorWeight"] * told
            + run.penalty(a)
        )
        run.minimise(loss, gen)
        return {"loss_remixed": remixed, "loss_total": loss}

    return update


def urm(run):
    h, nets = run.h, run.nets
    hidden = [layer for _ in range(h["discriminatorLayers"]) for layer in (nn.Linear(100, 100), nn.LeakyReLU())]
    nets["discriminator"] = nn.Sequential(nn.Linear(WIDTH, 100), nn.LeakyReLU(), *hidden, nn.Linear(100, 1))
    disc = run.new_adam(h["discriminatorLr"], "discriminator")
    act = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid}[h["activation"]]
    run.predict = lambda x: nets["classifier"](act(nets["backbone"](x)))
    of = lambda v: nets["discriminator"](v).squeeze(1).sigmoid()

    def update(batch, draws):
        x, y = torch.cat([x for x, _ in batch]), torch.cat([y for _, y in batch])
        z = act(nets["backbone"](x))
        loss = F.cross_entropy(nets["classifier"](z), y) - h["lambda"] * of(z).log().mean() + run.penalty(z)
        run.minimise(loss)
        noise = draws.keep("noise", torch.rand(z.shape))
        noise = 2 * noise - 1 if h["activation"] == "tanh" else noise
        run.minimise(-of(noise).log().mean() - h["lambda"] * (1 - of(z.detach())).log().mean(), disc)
        return {"loss": loss}

    return update


class Lars:
    def __init__(self, parameters, lr):
        self.parameters, self.lr, self.m = list(parameters), lr, {}

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    def step(self):
        with torch.no_grad():
            for p in self.parameters:
                d = p.grad
                if p.dim() > 1:
                    d = d + DECAY * p
                    d = d * 0.001 * p.norm() / d.norm()
                self.m[p] = 0.9 * self.m.get(p, 0) + d
                p -= self.lr * self.m[p]


def erm_plus_plus(run):
    h, nets = run.h, run.nets
    nets["averageBackbone"], nets["averageClassifier"] = copy.deepcopy(nets["backbone"]), copy.deepcopy(nets["classifier"])
    if h.get("lars"):
        everything, head = Lars(run.everything(), LR), Lars(nets["classifier"].parameters(), h["headLr"])
    else:
        everything, head = run.adam, run.new_adam(h["headLr"], "classifier")
    iterates = []
    run.extra = lambda: {"average.count": torch.tensor(float(max(0, run.done + 1 - h["averageFrom"])))}
    run.done = 0
    run.predict = lambda x: nets["averageClassifier"](nets["averageBackbone"](x))

    def update(batch, draws):
        z, logits, y = run.joint(batch)
        of_head = run.step <= h["headSteps"]
        loss = F.cross_entropy(logits, y) + (0 if of_head else run.penalty(z))
        run.minimise(loss, head if of_head else everything)
        run.done = run.step + 1
        iterates.append([p.detach().clone() for p in run.everything()])
        own = iterates[h["averageFrom"] - 2 :] if run.done >= h["averageFrom"] else iterates[-1:]
        targets = [*nets["averageBackbone"].parameters(), *nets["averageClassifier"].parameters()]
        for target, values in zip(targets, zip(*own)):
            target.data = sum(values) / len(values)
        return {"loss": loss}

    return update


TRM = {"cosWeight": 0.3, "startSteps": 1, "eta": 0.1, "neumann": "aliased", "gradientAlpha": "updated"}
TRANSFER = {"lambda": 0.7, "delta": 0.05, "adversarySteps": 3, "adversaryLr": 0.1}
EQRM = {"quantile": 0.75, "burnInSteps": 2, "quantileLr": 0.003}
ADRMX = {"contrastWeight": 1.0, "domainWeight": 0.5, "discriminatorWeight": 0.75, "remixWeight": 1.0, "dStepsPerGStep": 1}
ADRMX |= {"beta1": 0.5, "mlpWidth": 5, "mlpDepth": 4, "remix": "positions"}
URM = {"lambda": 0.3, "discriminatorLayers": 1, "activation": "tanh", "discriminatorLr": 0.02}
IB = {"bottleneckWeight": 2.0, "bottleneckSteps": 2}
ERMPP = {"headLr": 0.03, "headSteps": 1, "averageFrom": 3}
RDM = {"matchingWeight": 5.0, "annealSteps": 2, "varianceWeight": 0.4, "matchingLr": 0.003}
CASES = {
    "sd + nu": ("sd", sd, {"penaltyWeight": 0.1}),
    "sand-mask + nu": ("sand-mask", sand_mask, {"tau": 0.3, "k": 2.0}),
    "iga + nu": ("iga", iga, {"penaltyWeight": 10.0}),
    "trm + nu": ("trm", trm, TRM),
    "trm, series": ("trm", trm, {**TRM, "neumann": "series", "gradientAlpha": "used"}),
    "ib-erm + nu": ("ib-erm", lambda run: bottleneck(run, False), IB),
    "ib-irm + nu": ("ib-irm", lambda run: bottleneck(run, True), {**IB, "penaltyWeight": 3.0, "annealSteps": 3}),
    "cad + nu": ("cad", lambda run: cad(run, False), {"lambda": 0.5}),
    "cad, without itself": ("cad", lambda run: cad(run, False), {"lambda": 0.5, "flip": False, "selfTerm": False, "normalize": True}),
    "cad, projected": ("cad", lambda run: cad(run, False), {"lambda": 0.5, "project": True, "normalize": True}),
    "cond-cad + nu": ("cond-cad", lambda run: cad(run, True), {"lambda": 0.5}),
    "transfer + nu": ("transfer", transfer, TRANSFER),
    "transfer, gda": ("transfer", transfer, {**TRANSFER, "gda": True}),
    "transfer, no momentum": ("transfer", transfer, {**TRANSFER, "headMomentum": False}),
    "causirl-coral + nu": ("causirl-coral", lambda run: causirl(run, moments), {"gamma": 0.7}),
    "causirl-mmd + nu": ("causirl-mmd", lambda run: causirl(run, discrepancy), {"gamma": 0.7}),
    "eqrm + nu": ("eqrm", eqrm, EQRM),
    "eqrm, implicit": ("eqrm", eqrm, {**EQRM, "burnInSteps": 1.5, "gradient": "implicit", "optimizerReset": "reached"}),
    "rdm + nu": ("rdm", rdm, RDM),
    "adrmx + nu": ("adrmx", adrmx, ADRMX),
    "adrmx, same class": ("adrmx", adrmx, {**ADRMX, "remix": "same-class"}),
    "urm + nu": ("urm", urm, {**URM, "discriminatorLayers": 0}),
    "urm, sigmoid": ("urm", urm, {**URM, "activation": "sigmoid", "discriminatorLayers": 0}),
    "erm-plus-plus + nu": ("erm-plus-plus", erm_plus_plus, ERMPP),
    "erm-plus-plus, lars": ("erm-plus-plus", erm_plus_plus, {**ERMPP, "lars": True}),
}

shared = {f"batch/{s}/{e}/{p}": v for s, batch in enumerate(BATCHES) for e, pair in enumerate(batch) for p, v in zip("xy", pair)}
recorder = Recorder(f"the papers' formulas, torch {torch.__version__}", {**shared, "predict/x": PROBE})
for number, (name, (algorithm, make, hparams)) in enumerate(CASES.items()):
    torch.manual_seed(number)
    weight = 0.3 if name.endswith("+ nu") else 0
    run = Run(hparams, weight)
    one_update = make(run)

    def update(batch, draws, run=run, one_update=one_update):
        logs = one_update(batch, draws)
        run.step += 1
        return logs

    about = {
        "algorithm": algorithm,
        "hparams": {"lr": LR, "weightDecay": DECAY, **hparams},
        "backbone": {"id": "mlp", "inputShape": [5], "width": WIDTH, "depth": 3},
        "classes": CLASSES,
    }
    if weight:
        norm = {"id": "nuclear-norm", "weight": weight, "scaling": "per-sample", "warmup": 0, "route": "svd"}
        about["regularizers"] = [norm]
    state = lambda run=run: {**run.nets.state_dict(), **run.extra()}
    recorder.case(name, about, batches=BATCHES, update=update, state=state, predict=run.predict, probe=PROBE)
recorder.save(pathlib.Path(__file__).with_name("parity_formulas.safetensors"))
