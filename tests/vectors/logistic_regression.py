"""Logistic regression by PyTorch's L-BFGS in float64: python3 logistic_regression.py writes logistic_regression.safetensors beside it.

Where scikit-learn is installed its coefficients are stored too; the objective is its own (C times the summed loss, plus half the
squared norm of the weights, features standardised, the intercept free).
"""

import json
import pathlib

import numpy
import torch
from formula import formula
from safetensors_writer import save

# Samples, features, classes; the last feature of every case never changes.
CASES = {
    "tall": {"shape": (60, 8), "classes": 3},
    "wide": {"shape": (24, 40), "classes": 4},
    "two classes, weighted": {"shape": (50, 6), "classes": 2, "weights": [0.5, 3.0]},
}
STRENGTHS = [0.001, 0.1, 10.0]


def data(name, case):
    n, d = case["shape"]
    x = formula(f"{name} x", (n, d)) * torch.linspace(0.5, 30, d, dtype=torch.float64) + 2
    x = x + x[:, :1] * torch.linspace(0, 1, d, dtype=torch.float64)  # correlated, and of different scales
    x[:, -1] = 7
    scores = formula(f"{name} rule", (n, case["classes"])) + 0.05 * x[:, : case["classes"]]
    return x, scores.argmax(1)


def standardise(x):
    deviation = x.std(0, unbiased=False)
    return x.mean(0), torch.where(deviation > 0, deviation, torch.ones_like(deviation))


def fit(x, y, classes, c, weights):
    mean, deviation = standardise(x)
    z = (x - mean) / deviation
    w = torch.zeros(classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    b = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [w, b], lr=1, max_iter=20000, tolerance_grad=1e-13, tolerance_change=0, history_size=50, line_search_fn="strong_wolfe"
    )
    each = torch.tensor(weights, dtype=torch.float64)[y]

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(z @ w.T + b, y, reduction="none")
        total = c * (each * loss).sum() + (w**2).sum() / 2
        total.backward()
        return total

    optimizer.step(closure)
    # L-BFGS ends where rounding hides the descent; Newton steps go the rest of the way. Adding to all intercepts changes nothing,
    # so the Hessian is singular, and the pseudoinverse leaves their mean where it is.
    def objective(flat):
        ww, bb = flat[: w.numel()].view_as(w), flat[w.numel() :]
        loss = torch.nn.functional.cross_entropy(z @ ww.T + bb, y, reduction="none")
        return c * (each * loss).sum() + (ww**2).sum() / 2

    flat = torch.cat([w.detach().flatten(), b.detach()])
    for _ in range(4):
        gradient = torch.autograd.functional.jacobian(objective, flat)
        flat = flat - torch.linalg.pinv(torch.autograd.functional.hessian(objective, flat), hermitian=True) @ gradient
    assert torch.autograd.functional.jacobian(objective, flat).abs().max() < 1e-10
    w, b = flat[: w.numel()].view_as(w), flat[w.numel() :]
    raw = w.detach() / deviation
    return raw, b.detach() - raw @ mean, objective(flat)


def fit_sklearn(x, y, classes, c, weights):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(x)
    model = LogisticRegression(
        C=c, multi_class="multinomial", tol=1e-12, max_iter=100000, class_weight=dict(enumerate(weights))
    ).fit(scaler.transform(x), y)
    coef = model.coef_ if classes > 2 else numpy.concatenate([-model.coef_, model.coef_])
    intercept = model.intercept_ if classes > 2 else numpy.concatenate([-model.intercept_, model.intercept_])
    raw = coef / scaler.scale_
    return torch.from_numpy(raw), torch.from_numpy(intercept - raw @ scaler.mean_)


vectors = {}
for name, case in CASES.items():
    x, y = data(name, case)
    weights = case.get("weights", [1.0] * case["classes"])
    vectors[f"{name}/x"], vectors[f"{name}/y"] = x, y
    for c in STRENGTHS:
        key = f"{name}/{c:g}"
        vectors[f"{key}/weight"], vectors[f"{key}/bias"], vectors[f"{key}/objective"] = fit(x, y, case["classes"], c, weights)
        vectors[f"{key}/sklearn.weight"], vectors[f"{key}/sklearn.bias"] = fit_sklearn(x, y.numpy(), case["classes"], c, weights)
        gap = (vectors[f"{key}/weight"] - vectors[f"{key}/sklearn.weight"]).abs().max()
        print(key, "largest difference of scikit-learn and PyTorch", gap.item())
import sklearn

save(
    pathlib.Path(__file__).with_name("logistic_regression.safetensors"),
    vectors,
    {"torch": torch.__version__, "sklearn": sklearn.__version__, "cases": json.dumps(CASES), "strengths": json.dumps(STRENGTHS)},
)
