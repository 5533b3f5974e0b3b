"""Makes parity_domainbed.safetensors: five updates of DomainBed's own classes on vectors, in float64.

    python3 tests/vectors/parity_domainbed.py CHECKOUT      (a checkout of facebookresearch/DomainBed, revision b93c22a)

Nothing of DomainBed is in this repository: its code is imported from the checkout and its numbers are recorded. Where it
cannot run as it is (no GPU, an argument that LARS does not take) the case is left to parity_formulas.py.
"""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "porting"))
from record_parity import Recorder, load_class, made_batches, made_probe, on_the_host, record_class  # noqa: E402

torch.set_default_dtype(torch.float64)
on_the_host()
checkout = sys.argv[1]

COMMON = {"lr": 0.01, "weight_decay": 0.001}
BACKBONE = {"id": "mlp", "inputShape": [5], "width": 6, "depth": 3}
BATCHES, PROBE = made_batches(), made_probe()
shared = {f"batch/{s}/{e}/{part}": value for s, batch in enumerate(BATCHES) for e, pair in enumerate(batch) for part, value in zip("xy", pair)}
recorder = Recorder(f"DomainBed b93c22a, torch {torch.__version__}", {**shared, "predict/x": PROBE})


def heads(algorithm):
    count = algorithm.num_domains
    return {
        "heads.weight": torch.stack([head.weight.data for head in algorithm.clist[:count]]),
        "heads.bias": torch.stack([head.bias.data for head in algorithm.clist[:count]]),
        "heads.alpha": algorithm.alpha.clone(),
    }


def sma_from(start):
    def prepare(algorithm):
        algorithm.sma_start_iter = start

    return prepare


def sma_count(algorithm):
    return {"average.count": torch.tensor(float(algorithm.sma_count))}


def record(name, title, algorithm, hparams, not_for_nudge=(), also={}, **options):
    found = load_class(f"{checkout}:{title}")
    about = {"algorithm": algorithm, "backbone": BACKBONE, "classes": 3}
    record_class(recorder, name, found, about, {**COMMON, **hparams}, BATCHES, PROBE, **options)
    case = recorder.cases[name]
    for log in case["logs"]:
        log.pop("nll", None) if algorithm.startswith("ib-") else None  # there it is the whole loss, by a slip
    case["hparams"] = {key: value for key, value in {**case["hparams"], **also}.items() if key not in not_for_nudge}


record("sd", "SD", "sd", {"sd_reg": 0.1})
record("sand-mask", "SANDMask", "sand-mask", {"tau": 0.3, "k": 2.0})
record("sand-mask, tau 1", "SANDMask", "sand-mask", {"tau": 1.0, "k": 10.0})
record("iga", "IGA", "iga", {"penalty": 10.0})
TRM = {"cos_lambda": 0.3, "iters": 2, "groupdro_eta": 0.1}
record("trm", "TRM", "trm", TRM, more=heads)
record("trm, class balanced", "TRM", "trm", {**TRM, "iters": 0, "class_balanced": True}, more=heads)
record("ib-erm", "IB_ERM", "ib-erm", {"ib_lambda": 2.0, "ib_penalty_anneal_iters": 2})
record(
    "ib-irm",
    "IB_IRM",
    "ib-irm",
    {"ib_lambda": 2.0, "ib_penalty_anneal_iters": 2, "irm_lambda": 3.0, "irm_penalty_anneal_iters": 3},
)
CAD = {"lmbda": 0.5, "temperature": 0.1, "is_normalized": False, "is_project": False, "is_flipped": True}
for title, algorithm in (("CAD", "cad"), ("CondCAD", "cond-cad")):
    record(algorithm, title, algorithm, CAD)
    record(f"{algorithm}, not flipped", title, algorithm, {**CAD, "is_normalized": True, "is_flipped": False})
TRANSFER = {"t_lambda": 0.7, "delta": 0.05, "d_steps_per_g": 3, "lr_d": 0.1, "gda": False}
rules = [(r"^adv_classifier\.", "adversary.")]
record("transfer", "Transfer", "transfer", TRANSFER, rules=rules)
record("transfer, gda", "Transfer", "transfer", {**TRANSFER, "gda": True}, rules=rules, also={"gdaParameters": "adversary"})
record("causirl-coral", "CausIRL_CORAL", "causirl-coral", {"mmd_gamma": 1.0})
record("causirl-mmd", "CausIRL_MMD", "causirl-mmd", {"mmd_gamma": 1.0})
rules = [(r"^alpha$", "")]
EQRM = {"eqrm_quantile": 0.75, "eqrm_burnin_iters": 2, "eqrm_lr": 0.003}
record("eqrm", "EQRM", "eqrm", EQRM, rules=rules)
record("eqrm, no whole number", "EQRM", "eqrm", {**EQRM, "eqrm_quantile": 0.9, "eqrm_burnin_iters": 1.5}, rules=rules)
record(
    "rdm",
    "RDM",
    "rdm",
    {"rdm_lambda": 5.0, "rdm_penalty_anneal_iters": 2, "variance_weight": 0.4, "rdm_lr": 0.003},
)
ADRMX = {"cnt_lambda": 1.0, "dclf_lambda": 0.5, "disc_lambda": 0.75, "rmxd_lambda": 1.0, "d_steps_per_g_step": 1}
rules = [
    (r"^featurizer_label\.", "backbone."),
    (r"^featurizer_domain\.", "domainBackbone."),
    (r"^classifier_label_1\.", "classifier."),
    (r"^classifier_label_2\.", "differenceClassifier."),
    (r"^classifier_domain\.", "domainClassifier."),
]
record("adrmx", "ADRMX", "adrmx", {**ADRMX, "beta1": 0.5, "mlp_width": 6, "mlp_depth": 3, "mlp_dropout": 0.0}, rules=rules)
URM = {
    "urm_adv_lambda": 0.3,
    "urm_discriminator_label_smoothing": 0.0,
    "urm_discriminator_hidden_layers": 1,
    "urm_generator_output": "tanh",
    "urm_discriminator_optimizer": "adam",
    "urm_discriminator_lr": 0.02,
}
rules = [
    (r"^discriminator\.dense1\.", "discriminator.0."),
    (r"^discriminator\.dense2\.", "discriminator.2."),
    (r"^discriminator\.output\.", "discriminator.4."),
]
record("urm", "URM", "urm", URM, rules=rules)
record(
    "urm, smoothed",
    "URM",
    "urm",
    {
        **URM,
        "urm_generator_output": "relu",
        "urm_discriminator_label_smoothing": 0.2,
        "urm_discriminator_optimizer": "sgd",
        "urm_discriminator_hidden_layers": 0,
    },
    rules=[(r"^discriminator\.dense1\.", "discriminator.0."), (r"^discriminator\.output\.", "discriminator.2.")],
)
rules = [(r"^network_sma\.0\.", "averageBackbone."), (r"^network_sma\.1\.", "averageClassifier.")]
record(
    "erm-plus-plus",
    "ERMPlusPlus",
    "erm-plus-plus",
    {"linear_lr": 0.03, "linear_steps": 1},
    rules=rules,
    prepare=sma_from(3),
    more=sma_count,
    also={"averageFrom": 3},
)
recorder.save(pathlib.Path(__file__).with_name("parity_domainbed.safetensors"))
