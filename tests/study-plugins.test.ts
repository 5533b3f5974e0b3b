/** The controls of docs/study.md against closed forms. */

import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { algorithmNamed } from "../src/algorithms/index.js";
import { Mlp } from "../src/backbones/index.js";
import { loadPlugins } from "../src/cli/plugins.js";
import { Random } from "../src/engine/random.js";
import { scope } from "../src/engine/scope.js";
import { grad, type Tensor, tensor } from "../src/engine/tensor.js";
import { regularizerNamed } from "../src/regularizers/index.js";
import { Learner } from "../src/training/learner.js";

const FOLDER = join(import.meta.dirname, "../studies/rank-or-scale/plugins");
const FILES = [
  "norm-ratio",
  "rank-raising",
  "row-norm",
  "feature-variance",
  "singular-values",
  "normalized-erm",
  "scaled-erm",
];

beforeAll(() => loadPlugins(FILES.map((name) => join(FOLDER, `${name}.mjs`))));

/** diag(3, 4) has the singular values 4 and 3. */
const diagonal = (scale = 1): Tensor =>
  tensor([
    [3 * scale, 0],
    [0, 4 * scale],
  ]).requiresGrad_();

function penalty(id: string, features = diagonal()): { value: number; gradient: number[] } {
  return scope(() => {
    const term = regularizerNamed(id)({ weight: 1, warmup: 0 }).term({ features, step: 0 })!;
    return { value: term.item(), gradient: grad(term, [features])[0].toNumbers() };
  });
}

test("the ratio of the norms is 7/5 for diag(3, 4), and does not depend on the scale of the features", () => {
  expect(penalty("norm-ratio").value).toBeCloseTo(1.4, 5);
  expect(penalty("norm-ratio", diagonal(10)).value).toBeCloseTo(1.4, 5);
  // Its gradient is orthogonal to the features: moving along it does not change their scale to first order.
  const [a, , , d] = penalty("norm-ratio").gradient;
  expect(3 * a + 4 * d).toBeCloseTo(0, 5);
  expect(penalty("rank-raising").value).toBeCloseTo(-1.4, 5);
});

test("the largest singular value and the others add up to the nuclear norm", () => {
  expect(penalty("top-singular-value").value).toBeCloseTo(4 / 2, 4);
  expect(penalty("lower-singular-values").value).toBeCloseTo(3 / 2, 4);
  const [a, , , d] = penalty("top-singular-value").gradient;
  expect(a).toBeCloseTo(0, 3);
  expect(d).toBeCloseTo(1 / 2, 3);
});

test("the row norm is the mean length of a row, and the variance subtracts the mean", () => {
  expect(penalty("row-norm").value).toBeCloseTo(3.5, 5);
  // Rows less their mean: (1.5, -2) and (-1.5, 2), of the Frobenius norm √12.5.
  expect(penalty("feature-variance").value).toBeCloseTo(Math.sqrt(12.5) / 2, 5);
});

const makeLearner = (id: string, hparams: Record<string, number>): Learner =>
  new Learner({
    algorithm: algorithmNamed(id),
    makeBackbone: () => new Mlp({ inputShape: [2], width: 8 }).initialize(new Random(0, ["backbone"])),
    classes: 2,
    domains: 1,
    hparams,
  });

test("normalized features have the given norm in every row, and these are measured", () => {
  using learner = makeLearner("normalized-erm", { featureNorm: 19 });
  scope(() => {
    const x = tensor([
      [1, 2],
      [-3, 0.5],
    ]);
    const norms = learner.features(x)!.norm(1).toNumbers();
    for (const norm of norms) expect(norm).toBeCloseTo(19, 4);
  });
});

test("scaled features are the backbone's times the scale, and the temperature divides the logits", () => {
  using plain = makeLearner("erm", {});
  using scaled = makeLearner("scaled-erm", { featureScale: 0.25, temperature: 1 });
  using tempered = makeLearner("scaled-erm", { featureScale: 1, temperature: 2 });
  scope(() => {
    const x = tensor([[1, 2]]);
    expect(scaled.features(x)!.div(plain.features(x)!.add(1e-20)).max().item()).toBeCloseTo(0.25, 5);
    expect(tempered.predict(x).mul(2).sub(plain.predict(x)).abs().max().item()).toBeLessThan(1e-6);
  });
});
