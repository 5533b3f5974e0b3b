"""Makes reference.json: what NumPy and Python give for the pieces of the reference protocol.

Seeds and their hashes, NumPy's legacy generator, splits, hyperparameter draws and the text Python writes, each from
NumPy, hashlib, json and decimal directly. Floats in data are written {"float": x}, because JSON in JavaScript has only
one kind of number. Run: python3 tests/vectors/reference.py
"""

import decimal
import hashlib
import json
import pathlib

from numpy.random import RandomState


def seed_hash(*values):
    return int(hashlib.md5(str(values).encode()).hexdigest(), 16) % 2**31


def digest(numbers):
    """Stands for a long list of whole numbers."""
    return hashlib.md5(",".join(map(str, numbers)).encode()).hexdigest()


def tagged(value):
    """The value with its floats marked."""
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, list):
        return [tagged(item) for item in value]
    if isinstance(value, dict):
        return {key: tagged(item) for key, item in value.items()}
    return value


def permutation(seed, n):
    order = list(range(n))
    RandomState(seed).shuffle(order)
    return order


def generator(seed):
    state = RandomState(seed)
    doubles = [state.random_sample() for _ in range(5)]
    uniforms = [state.uniform(-5, -3.5) for _ in range(5)]
    choices = [[n, int(state.choice(list(range(n))))] for n in list(range(1, 18)) + [1000, 65536, 65537]]
    for _ in range(1500):  # more than one state's worth of words
        state.random_sample()
    return {
        "seed": seed,
        "doubles": doubles,
        "uniforms": uniforms,
        "choices": choices,
        "later": state.random_sample(),
        "permutations": [[n, digest(permutation(seed, n))] for n in (0, 1, 2, 3, 10, 64, 65, 1415, 20000)],
    }


def split(count, domain, trial_seed, holdout, test, uda):
    seed = seed_hash(trial_seed, domain)
    order = permutation(seed, count)
    n = int(count * holdout)
    out, inside, aside = order[:n], order[n:], []
    if test:
        order = permutation(seed, len(inside))
        n = int(len(inside) * uda)
        aside, inside = [inside[i] for i in order[:n]], [inside[i] for i in order[n:]]
    arguments = dict(count=count, domain=domain, trialSeed=trial_seed, holdout=holdout, test=test, uda=uda)
    parts = {"in": inside, "out": out, "uda": aside}
    return {"arguments": arguments, "parts": {name: {"start": part[:6], "length": len(part), "digest": digest(part)} for name, part in parts.items()}}


def split_hash(counts, trial_seed):
    parts = {}
    for i, (name, count) in enumerate(counts.items()):
        order = permutation(seed_hash(trial_seed, i), count)
        n = int(count * 0.2)
        parts[name] = {"in": order[n:], "out": order[:n]}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {"counts": counts, "trialSeed": trial_seed, "hash": hashlib.sha256(text.encode()).hexdigest()[:16]}


def power(base, exponent):
    with decimal.localcontext() as context:
        context.prec = 60
        return float(decimal.Decimal(base) ** decimal.Decimal(exponent))


def draws(hparams_seed, trial_seed):
    """Draws of every kind the reference has, by name."""

    def state(name):
        return RandomState(seed_hash(seed_hash(hparams_seed, trial_seed), name))

    return {
        "hparamsSeed": hparams_seed,
        "trialSeed": trial_seed,
        "small": {"lr": 10 ** state("lr").uniform(-4.5, -2.5), "batch_size": int(2 ** state("batch_size").uniform(3, 9))},
        "large": {
            "lr": 10 ** state("lr").uniform(-5, -3.5),
            "weight_decay": 10 ** state("weight_decay").uniform(-6, -2),
            "batch_size": int(2 ** state("batch_size").uniform(3, 5.5)),
            "resnet_dropout": float(state("resnet_dropout").choice([0.0, 0.1, 0.5])),
        },
        "domainnet": {"batch_size": int(2 ** state("batch_size").uniform(3, 5))},
        "nuclear-norm": {"batch_size": int(2 ** state("batch_size").uniform(5, 6)), "theta": 10 ** state("theta").uniform(-2.5, -1.5)},
        "algorithms": {
            "irm_lambda": 10 ** state("irm_lambda").uniform(-1, 5),
            "irm_penalty_anneal_iters": int(10 ** state("irm_penalty_anneal_iters").uniform(0, 4.0)),
            "mtl_ema": float(state("mtl_ema").choice([0.5, 0.9, 0.99, 1.0])),
            "tau": state("tau").uniform(0.5, 1.0),
            "penalty_anneal_iters": int(state("penalty_anneal_iters").uniform(0.0, 5000.0)),
            "mlp_depth": int(state("mlp_depth").choice([3, 4, 5])),
        },
    }


hashed = [
    (0, 0), (1, 0), (2**31 - 1, 5), (785910682, "lr"), ("PACS", "ERM", [0, 1], 3, 1), (7,), (), ("a", None, True, False),
    (0.2, 1.0, 1e-05, 1e16, 1e15, 123456.789, -0.0, 1e300, 5e-324, 0.0001, 2.5e-07), ([], [[1], ["x", 2.0]]), ("it's",),
    ('say "x"',), ("it's \"x\"",), ("tab\there\\ \n\r\x00\x7f\xa0",), ("é 日本 🙂 \u200b \U000e0001",), (2**53 - 1, -3),
]

written = [
    {}, [], {"b": 1, "a": [1.0, 0.2, 1e-05, 1e22, -0.0]}, {"é\n\"\\/\x7f🙂\t": None, "z": True, "Z": False},
    {"\uffff": 1, "\U0001f642": 2, "10": 3, "9": 4}, {"nested": {"y": {"b": [], "a": {}}, "x": [[1, [2]], "\b\f\r\x01"]}},
]

job = {"data_dir": "data", "holdout_fraction": 0.2, "task": "domain_generalization"}


def named(extra, dataset, algorithm, test_envs, hparams_seed, trial_seed):
    arguments = {
        **job, **extra, "dataset": dataset, "algorithm": algorithm, "test_envs": test_envs, "hparams_seed": hparams_seed,
        "trial_seed": trial_seed, "seed": seed_hash(dataset, algorithm, test_envs, hparams_seed, trial_seed),
    }
    name = hashlib.md5(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
    return {"arguments": arguments, "name": name}


exponents = RandomState(1)
tens = [exponents.uniform(-6, 5) for _ in range(200)] + [23.0, -5.0, 0.0, 299.5, -299.5, 1e-17, -1e-20, 0.5]
twos = [exponents.uniform(0, 10) for _ in range(200)] + [9.0, -3.0, 0.0, 299.5, -299.5, 1e-17, -1e-20, 0.5]

stored = {
    "seedHash": [{"values": tagged(list(values)), "text": str(values), "seed": seed_hash(*values)} for values in hashed],
    "json": [{"value": tagged(value), "text": json.dumps(value, sort_keys=True)} for value in written],
    "generator": [generator(seed) for seed in (0, 1, 894182419, 2**31, 2**32 - 1)],
    "tenToThe": [[x, power(10, x)] for x in tens],
    "twoToThe": [[x, power(2, x)] for x in twos],
    "split": [
        split(*arguments)
        for arguments in [
            (1415, 0, 0, 0.2, False, 0.0), (1415, 0, 0, 0.2, True, 0.0), (2344, 1, 0, 0.2, True, 0.3), (3929, 3, 2, 0.2, False, 0.0),
            (10, 0, 0, 0.29, False, 0.0), (29, 5, 1, 0.7, True, 0.5), (4, 0, 0, 0.2, False, 0.0), (1, 2, 3, 0.5, True, 0.5), (0, 0, 0, 0.2, True, 0.2),
        ]
    ],
    "splitHash": [
        split_hash({"art_painting": 2048, "cartoon": 2344, "photo": 1670, "sketch": 3929}, 0),
        split_hash({"0": 20, "15": 21, "100": 22, "été": 3}, 1),
    ],
    "draws": [draws(hparams_seed, trial_seed) for hparams_seed in range(1, 21) for trial_seed in range(3)],
    "jobs": [
        named({}, "PACS", "ERM", [0], 0, 0),
        named({}, "PACS", "ERM", [0, 1], 3, 1),
        named({"data_dir": "/data/dépôt", "steps": 501, "hparams": '{"batch_size": 8}'}, "DomainNet", "CORAL", [5], 19, 2),
        named({"holdout_fraction": 0.0}, "VLCS", "Mixup", [2, 3], 1, 0),
    ],
}

# A case a line, so that a change shows as one.
sections = ["%s: [\n%s\n]" % (json.dumps(name), ",\n".join(map(json.dumps, cases))) for name, cases in stored.items()]
pathlib.Path(__file__).with_name("reference.json").write_text("{\n%s\n}\n" % ",\n".join(sections))
