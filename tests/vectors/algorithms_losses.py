"""Five updates of the algorithms that are mostly a loss: python3 algorithms_losses.py writes algorithms_losses.safetensors.

The formulas of the methods as they stand, with nothing shared with src/algorithms: gradients by autograd, one sample or
one domain at a time, where the library has a closed form or one run of the network over all rows.
"""

import json
import pathlib

import numpy
import torch
from safetensors_writer import save
from torch.nn.functional import cross_entropy, mse_loss

torch.manual_seed(20240315)
torch.set_default_dtype(torch.float64)

INPUTS, WIDTH, CLASSES, DOMAINS, ROWS, STEPS = 5, 6, 3, 3, 5, 5
LR, WEIGHT_DECAY = 0.01, 0.05  # weight decay, so that the size of a gradient shows through Adam

BATCHES = [
    [
        (torch.randn(ROWS, INPUTS) + 0.5 * e, torch.tensor([0, 1, 2, e, step % CLASSES]))
        for e in range(DOMAINS)
    ]
    for step in range(STEPS)
]


class Backbone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.input = torch.nn.Linear(INPUTS, WIDTH)
        self.hiddens = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH)])
        self.output = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        x = torch.relu(self.input(x))
        for hidden in self.hiddens:
            x = torch.relu(hidden(x))
        return self.output(x)


class Draws:
    """Draws numbers and keeps them, by name and how often the name was used in the step."""

    def __init__(self, out, case):
        self.out, self.case = out, case

    def start(self, step):
        self.step, self.uses = step, {}

    def keep(self, name, value):
        use = self.uses.get(name, 0)
        self.uses[name] = use + 1
        self.out[f"{self.case}/draw {self.step}/{name}/{use}"] = value.clone()
        return value

    def permutation(self, name, n):
        return self.keep(name, torch.randperm(n)).tolist()

    def beta(self, name, a, b):
        return self.keep(name, torch.distributions.Beta(torch.tensor(a), torch.tensor(b)).sample()).item()

    def normal(self, name, *shape):
        return self.keep(name, torch.randn(*shape))


class Algorithm(torch.nn.Module):
    """Backbone, linear classifier, one Adam over both; `loss` is the method."""

    def __init__(self, hparams, penalty, draws, classifier_inputs=WIDTH):
        super().__init__()
        self.h, self.penalty, self.draws, self.count = hparams, penalty, draws, 0
        self.backbone = Backbone()
        self.classifier = torch.nn.Linear(classifier_inputs, CLASSES)
        self.reset_adam()

    def trained(self):
        return [*self.backbone.parameters(), *self.classifier.parameters()]

    def reset_adam(self):
        self.adam = torch.optim.Adam(self.trained(), lr=LR, weight_decay=WEIGHT_DECAY)

    def update(self, batch):
        loss = self.loss(batch)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.count += 1

    def joint(self, batch):
        """Features of all samples, and logits, split by domain."""
        z = self.backbone(torch.cat([x for x, _ in batch]))
        sizes = [len(y) for _, y in batch]
        return z, torch.split(z, sizes), torch.split(self.classifier(z), sizes)


class Mixup(Algorithm):
    def loss(self, batch):
        if self.h["betweenDomains"]:
            order = self.draws.permutation("pairs", len(batch))
            total = 0
            for k in range(len(order)):
                (xi, yi), (xj, yj) = batch[order[k]], batch[order[(k + 1) % len(order)]]
                n = min(len(yi), len(yj))
                total = total + self.mixed(xi[:n], yi[:n], xj[:n], yj[:n])
            return total / len(batch)
        x, y = torch.cat([x for x, _ in batch]), torch.cat([y for _, y in batch])
        order = self.draws.permutation("order", len(y))
        return self.mixed(x, y, x[order], y[order])

    def mixed(self, xi, yi, xj, yj):
        lam = self.draws.beta("lambda", self.h["alpha"], self.h["alpha"])
        z = self.backbone(lam * xi + (1 - lam) * xj)
        logits = self.classifier(z)
        return lam * cross_entropy(logits, yi) + (1 - lam) * cross_entropy(logits, yj) + self.penalty(z)


class GroupDro(Algorithm):
    def __init__(self, *args):
        super().__init__(*args)
        self.weights = torch.nn.Module()
        self.weights.register_buffer("q", torch.ones(DOMAINS))

    def loss(self, batch):
        features = [self.backbone(x) for x, _ in batch]
        losses = torch.stack([cross_entropy(self.classifier(z), y) for z, (_, y) in zip(features, batch)])
        for e in range(len(batch)):
            self.weights.q[e] *= (self.h["eta"] * losses[e].detach()).exp()
        self.weights.q /= self.weights.q.sum()
        loss = torch.dot(losses, self.weights.q.clone())
        if self.h["divideByDomains"]:
            loss = loss / len(batch)
        return loss + self.penalty(torch.cat(features))


class Vrex(Algorithm):
    def loss(self, batch):
        z, _, logits = self.joint(batch)
        losses = torch.stack([cross_entropy(l, y) for l, (_, y) in zip(logits, batch)])
        mean = losses.mean()
        beta = self.h["penaltyWeight"] if self.count >= self.h["annealSteps"] else 1.0
        loss = mean + beta * ((losses - mean) ** 2).mean() + self.penalty(z)
        if self.count == self.h["annealSteps"]:
            self.reset_adam()
        return loss


class Irm(Algorithm):
    def loss(self, batch):
        z, _, logits = self.joint(batch)
        nll = penalty = 0
        for l, (_, y) in zip(logits, batch):
            nll = nll + cross_entropy(l, y) / len(batch)
            scale = torch.tensor(1.0, requires_grad=True)
            even = torch.autograd.grad(cross_entropy(l[::2] * scale, y[::2]), scale, create_graph=True)[0]
            odd = torch.autograd.grad(cross_entropy(l[1::2] * scale, y[1::2]), scale, create_graph=True)[0]
            penalty = penalty + even * odd / len(batch)
        beta = self.h["penaltyWeight"] if self.count >= self.h["annealSteps"] else 1.0
        if self.count == self.h["annealSteps"]:
            self.reset_adam()
        return nll + beta * penalty + self.penalty(z)


class Matching(Algorithm):
    def loss(self, batch):
        features = [self.backbone(x) for x, _ in batch]
        error = sum(cross_entropy(self.classifier(z), y) for z, (_, y) in zip(features, batch)) / len(batch)
        pairs = [(i, j) for i in range(len(batch)) for j in range(i)]
        distance = sum(self.distance(features[i], features[j]) for i, j in pairs) / len(pairs)
        return error + self.h["gamma"] * distance + self.penalty(torch.cat(features))


class Mmd(Matching):
    def distance(self, a, b):
        return self.kernel(a, a) + self.kernel(b, b) - 2 * self.kernel(a, b)

    def kernel(self, a, b):
        total = 0
        for i in range(len(a)):
            for j in range(len(b)):
                d = ((a[i] ** 2).sum() + (b[j] ** 2).sum() - 2 * torch.dot(a[i], b[j])).clamp(min=1e-30)
                for g in (0.001, 0.01, 0.1, 1, 10, 100, 1000):
                    total = total + torch.exp(-g * d)
        return total / (len(a) * len(b))


class Coral(Matching):
    def distance(self, a, b):
        return ((a.mean(0) - b.mean(0)) ** 2).mean() + ((torch.cov(a.t()) - torch.cov(b.t())) ** 2).mean()


class Mtl(Algorithm):
    def __init__(self, *args):
        super().__init__(*args, classifier_inputs=2 * WIDTH)
        self.memory = torch.nn.Module()
        self.memory.register_buffer("embeddings", torch.zeros(DOMAINS, WIDTH))

    def loss(self, batch):
        a = self.h["ema"]
        features = [self.backbone(x) for x, _ in batch]
        noise = self.draws.normal("noise", sum(len(z) for z in features), WIDTH) if self.h["noise"] else None
        loss, start = 0, 0
        for e, (z, (_, y)) in enumerate(zip(features, batch)):
            m = a * z.mean(0) + (1 - a) * self.memory.embeddings[e].clone()
            self.memory.embeddings[e] = m.detach()
            beside = noise[start : start + len(z)] if noise is not None else m.repeat(len(z), 1)
            start += len(z)
            loss = loss + cross_entropy(self.classifier(torch.cat([z, beside], 1)), y)
        return loss + self.penalty(torch.cat(features))


class Rsc(Algorithm):
    def loss(self, batch):
        y = torch.cat([y for _, y in batch])
        z, _, _ = self.joint(batch)
        leaf = z.detach().clone().requires_grad_()
        logits = self.classifier(leaf)
        g = torch.autograd.grad((logits * torch.nn.functional.one_hot(y, CLASSES)).sum(), leaf)[0]
        with torch.no_grad():
            threshold = numpy.percentile(g.numpy(), (1 - self.h["featureDrop"]) * 100, axis=1)
            mask_f = g < torch.from_numpy(threshold)[:, None]
            rows = torch.arange(len(y))
            before = logits.softmax(1)[rows, y]
            after = self.classifier(z * mask_f).softmax(1)[rows, y]
            change = before - after
            mask_b = change < float(numpy.percentile(change.numpy(), (1 - self.h["sampleDrop"]) * 100))
            mask = torch.logical_or(mask_f, mask_b[:, None]).to(z.dtype)
        return cross_entropy(self.classifier(z * mask), y) + self.penalty(z)


class Fishr(Algorithm):
    def __init__(self, *args):
        super().__init__(*args)
        self.memory = torch.nn.Module()
        self.memory.register_buffer("variances", torch.zeros(DOMAINS, CLASSES * (WIDTH + 1)))

    def loss(self, batch):
        a = self.h["ema"]
        y = torch.cat([y for _, y in batch])
        z, parts, logits = self.joint(batch)
        head = [self.classifier.weight, self.classifier.bias]
        smoothed = []
        for e, (own, (_, labels)) in enumerate(zip(parts, batch)):
            rows = []
            for i in range(len(labels)):
                one = cross_entropy(self.classifier(own[i : i + 1]), labels[i : i + 1])
                rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(one, head, create_graph=True)]))
            v = torch.stack(rows).var(0, unbiased=False)
            m = a * self.memory.variances[e].clone() + (1 - a) * v
            self.memory.variances[e] = m.detach()
            smoothed.append(m / (1 - a))
        smoothed = torch.stack(smoothed)
        distance = ((smoothed - smoothed.mean(0, keepdim=True)) ** 2).mean(1).mean()
        annealed = self.count >= self.h["annealSteps"]
        if self.count == self.h["annealSteps"] and self.h["annealSteps"] != 0:
            self.reset_adam()
        beta = self.h["penaltyWeight"] if annealed else 0.0
        return cross_entropy(torch.cat(logits), y) + beta * distance + self.penalty(z)


class SelfReg(Algorithm):
    def __init__(self, *args):
        super().__init__(*args)
        self.classifier.bias.data[0] += 1.5  # so that the loss is below 1 where class 0 prevails, above elsewhere
        linear, norm, relu = torch.nn.Linear, torch.nn.BatchNorm1d, torch.nn.ReLU
        hidden = 2 * WIDTH
        self.projector = torch.nn.Sequential(
            linear(WIDTH, hidden), norm(hidden), relu(), linear(hidden, hidden), norm(hidden), relu(),
            linear(hidden, WIDTH), norm(WIDTH),
        )
        if self.h["trainProjector"]:
            self.adam.add_param_group({"params": list(self.projector.parameters())})

    def loss(self, batch):
        x, y = torch.cat([x for x, _ in batch]), torch.cat([y for _, y in batch])
        order = torch.from_numpy(numpy.argsort(y.numpy(), kind="stable"))
        x, y = x[order], y[order]
        z = self.backbone(x)
        p, l = self.projector(z), self.classifier(z)
        a, b, start = [], [], 0
        for c in range(CLASSES):
            n = int((y == c).sum())
            if n == 0:
                continue
            a += [start + i for i in self.draws.permutation("first partner", n)]
            b += [start + i for i in self.draws.permutation("second partner", n)]
            start += n
        lam = self.draws.beta("lambda", 0.5, 0.5)
        l2, l3 = l[a], lam * l[a] + (1 - lam) * l[b]
        p2, p3 = p[a], lam * p[a] + (1 - lam) * p[b]
        error = cross_entropy(l, y)
        scale = min(error.item(), 1.0)
        individual = lam * (mse_loss(l, l2) + 0.3 * mse_loss(z, p2))
        hetero = (1 - lam) * (mse_loss(l, l3) + 0.3 * mse_loss(z, p3))
        return error + scale * (individual + hetero) + self.penalty(z)


class AndMask(Algorithm):
    def update(self, batch):
        gradients = []
        for x, y in batch:
            z = self.backbone(x)
            loss = cross_entropy(self.classifier(z), y) + self.penalty(z)
            gradients.append(torch.autograd.grad(loss, self.trained()))
        for parameter, own in zip(self.trained(), zip(*gradients)):
            agreement = sum(torch.sign(g) for g in own).abs() / len(own)
            mask = torch.where(agreement >= self.h["tau"], 1.0, 0.0)
            parameter.grad = mask * sum(own) / len(own) / (1e-10 + mask.sum() / mask.numel())
        self.adam.step()


CLASSES_BY_ID = {
    "mixup": Mixup, "group-dro": GroupDro, "vrex": Vrex, "irm": Irm, "mmd": Mmd, "coral": Coral, "mtl": Mtl, "rsc": Rsc,
    "fishr": Fishr, "self-reg": SelfReg, "and-mask": AndMask,
}  # fmt: skip

NU, NU_SUM = {"weight": 0.3, "scaling": "per-sample"}, {"weight": 0.05, "scaling": "sum"}
EVEN, UNEVEN = [4, 4, 4], [4, 3, 5]
MIXUP = {"alpha": 0.7, "betweenDomains": True}
GROUP_DRO = {"eta": 0.5, "divideByDomains": False}
ANNEALED = {"penaltyWeight": 10.0, "annealSteps": 2}  # the weight changes, and Adam starts anew, on the way
MATCHING = {"gamma": 0.8}
MTL = {"ema": 0.9, "noise": True}
RSC = {"featureDrop": 1 / 3, "sampleDrop": 1 / 3}
FISHR = {"penaltyWeight": 30.0, "annealSteps": 2, "ema": 0.9}


def cases():
    def case(name, algorithm, hparams, sizes=EVEN, regularizer=None):
        return name, {"algorithm": algorithm, "hparams": hparams, "sizes": sizes, "regularizer": regularizer}

    return dict([
        case("mixup", "mixup", MIXUP),
        case("mixup, domains of several sizes", "mixup", MIXUP, UNEVEN),
        case("mixup + NU", "mixup", MIXUP, UNEVEN, NU),
        case("mixup without domains", "mixup", {**MIXUP, "betweenDomains": False}),
        case("mixup without domains + NU", "mixup", {**MIXUP, "betweenDomains": False}, EVEN, NU_SUM),
        case("group-dro", "group-dro", GROUP_DRO),
        case("group-dro + NU, domains of several sizes", "group-dro", GROUP_DRO, UNEVEN, NU),
        case("group-dro divided", "group-dro", {**GROUP_DRO, "divideByDomains": True}, EVEN, NU_SUM),
        case("vrex", "vrex", ANNEALED),
        case("vrex + NU, domains of several sizes", "vrex", ANNEALED, UNEVEN, NU_SUM),
        case("irm", "irm", ANNEALED),
        case("irm + NU, domains of several sizes", "irm", ANNEALED, UNEVEN, NU),
        case("mmd", "mmd", MATCHING),
        case("mmd + NU, domains of several sizes", "mmd", MATCHING, UNEVEN, NU),
        case("coral", "coral", MATCHING),
        case("coral + NU, domains of several sizes", "coral", MATCHING, UNEVEN, NU_SUM),
        case("mtl", "mtl", MTL),
        case("mtl + NU, domains of several sizes", "mtl", MTL, UNEVEN, NU),
        case("mtl without noise", "mtl", {**MTL, "noise": False}, UNEVEN),
        case("mtl without noise + NU", "mtl", {"ema": 0.5, "noise": False}, EVEN, NU_SUM),
        case("rsc", "rsc", RSC),
        case("rsc, other shares", "rsc", {"featureDrop": 0.45, "sampleDrop": 0.2}, UNEVEN),
        case("rsc, the largest alone", "rsc", {"featureDrop": 0.0, "sampleDrop": 0.0}),
        case("rsc + NU", "rsc", RSC, EVEN, NU),
        case("fishr", "fishr", FISHR),
        case("fishr from the start + NU", "fishr", {**FISHR, "annealSteps": 0}, UNEVEN, NU_SUM),
        case("self-reg", "self-reg", {"trainProjector": False}),
        case("self-reg + NU", "self-reg", {"trainProjector": False}, UNEVEN, NU),
        case("self-reg, loss below 1", "self-reg", {"trainProjector": False}, [1, 1, 2]),
        case("self-reg, projector trained", "self-reg", {"trainProjector": True}),
        case("and-mask", "and-mask", {"tau": 1.0}),
        case("and-mask, two of three", "and-mask", {"tau": 0.3}, UNEVEN),
        case("and-mask + NU", "and-mask", {"tau": 1.0}, EVEN, NU),
    ])  # fmt: skip


def penalty_of(regularizer):
    def penalty(z):
        if regularizer is None:
            return 0
        norm = torch.linalg.svdvals(z).sum()
        return regularizer["weight"] * (norm / len(z) if regularizer["scaling"] == "per-sample" else norm)

    return penalty


out = {}
for step, batch in enumerate(BATCHES):
    for e, (x, y) in enumerate(batch):
        out[f"batch {step}/{e}/x"], out[f"batch {step}/{e}/y"] = x, y

starts = {}
for name, case in cases().items():
    draws = Draws(out, name)
    algorithm = CLASSES_BY_ID[case["algorithm"]](case["hparams"], penalty_of(case["regularizer"]), draws)
    # One start for all cases of an algorithm.
    start = starts.setdefault(case["algorithm"], {k: v.clone() for k, v in algorithm.state_dict().items()})
    algorithm.load_state_dict(start)
    for step, batch in enumerate(BATCHES):
        draws.start(step)
        algorithm.update([(x[:n], y[:n]) for (x, y), n in zip(batch, case["sizes"])])
        if step in (0, STEPS - 1):
            for key, value in algorithm.state_dict().items():
                # What never changes need not be stored again.
                if not torch.equal(value, start[key]):
                    out[f"{name}/after {step + 1}/{key}"] = value.clone()
for algorithm, start in starts.items():
    for key, value in start.items():
        out[f"{algorithm}/start/{key}"] = value

save(
    pathlib.Path(__file__).with_name("algorithms_losses.safetensors"),
    out,
    {
        "torch": torch.__version__,
        "cases": json.dumps(cases()),
        "run": json.dumps({"lr": LR, "weightDecay": WEIGHT_DECAY, "steps": STEPS, "inputs": INPUTS, "width": WIDTH, "classes": CLASSES}),
    },
)
