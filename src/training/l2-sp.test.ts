/** Tests the gradient that L2-SP adds, with plain gradient descent. */

import { expect, test } from "vitest";
import { CLASSES, DOMAINS, tinyBackbone, tinyBatch, vectors } from "../../tests/support/tiny-data.js";
import { algorithms } from "../algorithms/index.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { optimizerNamed } from "../optim/index.js";
import { l2Sp, type Regularizer } from "../regularizers/index.js";
import { Learner } from "./learner.js";

const LR = 0.1;

function makeLearner(id: string, regularizers: Regularizer[]): Learner {
  const learner = new Learner({
    algorithm: algorithms[id],
    makeBackbone: () => tinyBackbone(vectors, 0),
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { lr: LR },
    regularizers,
    optimization: { optimizer: optimizerNamed("sgd"), options: { momentum: 0, nesterov: false } },
  });
  learner.root.to({ dtype: "float64" });
  return learner;
}

const values = (learner: Learner): Map<string, number[]> =>
  new Map([...learner.parameters()].map(([name, each]) => [name, each.detach().toNumbers()]));

test("it pulls the backbone to its start and the classifier to 0, by its weights", () => {
  const before = liveTensors();
  scope(() => {
    using plain = makeLearner("erm", []);
    using held = makeLearner("erm", [l2Sp({ weight: 0.3, headWeight: 0.05 })]);
    const start = values(plain);
    const update = (learner: Learner, step: number) =>
      learner.update(
        tinyBatch(vectors, step).map(({ x, y }) => ({ x: x.toDType("float64"), y })),
        step,
      );
    update(plain, 0);
    const away = values(plain);
    held.loadStateDict(plain.stateDict()); // the initial values stay unchanged
    update(plain, 1);
    update(held, 1);
    const [without, within] = [values(plain), values(held)];
    for (const [name, own] of within)
      for (const [i, value] of own.entries()) {
        const from = name.startsWith("classifier")
          ? 0.05 * away.get(name)![i]
          : 0.3 * (away.get(name)![i] - start.get(name)![i]);
        expect(value).toBeCloseTo(without.get(name)![i] - LR * from, 12);
      }
  });
  expect(liveTensors()).toBe(before);
});

test("it goes on top of every algorithm, and is finite", () => {
  const before = liveTensors();
  for (const [id, { backbone }] of Object.entries(algorithms)) {
    if (backbone) continue;
    scope(() => {
      using learner = makeLearner(id, [l2Sp()]);
      learner.root.to({ dtype: "float32" });
      for (let step = 0; step < 3; step++) learner.update(tinyBatch(vectors, step), step);
      expect([...values(learner).values()].flat().every(Number.isFinite), id).toBe(true);
    });
  }
  expect(liveTensors()).toBe(before);
});
