/**
 * Every algorithm's model file against the learner it was written from: the same logits, bit for bit, on a batch, whichever way
 * the algorithm predicts. And what a file must not need: the algorithm's name where backbone and classifier are all.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import type { Request } from "../../src/declared-settings/keys.js";
import { liveTensors } from "../../src/engine/device.js";
import { empty } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { Scope, scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";
import { Ensemble } from "../../src/model/ensemble.js";
import { loadModel } from "../../src/model/index.js";
import { AdaptedModel } from "../../src/model/t3a.js";
import { resolve } from "../../src/settings/resolve.js";
import { makeLearner } from "../../src/training/make-learner.js";
import { writeModel } from "../../src/training/model-file.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-models-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SIZE = 16;
const samples = (count: number, step: number): Tensor =>
  new Random(0, ["models", step]).normal_(empty([count, 3, SIZE, SIZE]));

/** Two updates, so that running means and contexts are not as they began; then the file and the learner on one batch. */
async function compare(request: Request): Promise<{ path: string; kind: string; width: number }> {
  const plan = await resolve({ data: "shapes", "data.size": SIZE, testDomains: "inverted", threads: 1, ...request });
  using learner = makeLearner(plan);
  const { settings } = plan;
  scope(() => {
    for (const step of [0, 1])
      learner.update(
        Array.from({ length: settings.domains.length - 1 }, (_, domain) => ({
          x: samples(4, 10 * step + domain),
          y: tensor([0, 1, 2, 3], { dtype: "int64" }),
        })),
        step,
      );
  });
  const path = join(folder, `${settings.hash}.safetensors`);
  using sample = samples(3, 99);
  writeModel(path, { plan, learner, sample, model: "current", step: 1 });
  using model = await loadModel(path);
  scope(() => {
    const x = samples(8, 100);
    const { logits, features } = model.forward(x);
    expect(logits.sub(learner.predict(x)).abs().max().item()).toBe(0);
    expect(features.shape).toEqual([8, model.width]);
  });
  return { path, kind: model.about.prediction.kind, width: model.width };
}

const OWN_WAY = ["arm", "mtl", "mdsdi", "urm"];

test.each(Object.keys(algorithms))("the model file of %s gives the same logits, bit for bit", async (algorithm) => {
  const stages = algorithms[algorithm].backbone?.stages;
  const before = liveTensors();
  const { kind, width } = await compare({ algorithm, batchSize: 4, ...(stages && { backbone: "toy-cnn" }) });
  expect(kind).toBe(OWN_WAY.includes(algorithm) ? "algorithm" : "plain");
  if (algorithm === "mdsdi") expect(width).toBe(256); // of both backbones
  expect(liveTensors()).toBe(before);
});

test("variants that predict in another way also do so from the model file", async () => {
  await compare({ algorithm: "mtl", noise: false, batchSize: 4 });
  await compare({ algorithm: "arm", contextNet: "trained", contextWidth: 8, batchSize: 4 });
  await compare({ algorithm: "erm", nonlinearClassifier: true, batchSize: 4 });
});

test("a model states whether its predictions depend on the batch", async () => {
  for (const [algorithm, depends] of [
    ["arm", true],
    ["erm", false],
  ] as const) {
    const { path } = await compare({ algorithm, batchSize: 4 });
    using model = await loadModel(path);
    expect(model.dependsOnBatch).toBe(depends);
  }
});

test("the logits of an ensemble are the mean of its members' logits", async () => {
  const before = liveTensors();
  const { path: one } = await compare({ algorithm: "erm", batchSize: 4 });
  const { path: two } = await compare({ algorithm: "vrex", batchSize: 4 });
  {
    using members = new Scope();
    const expected = await Promise.all([one, two].map((path) => loadModel(path)));
    using ensemble = new Ensemble([await loadModel(one), await loadModel(two)]);
    members.run(() => {
      const x = samples(6, 7);
      const [a, b] = expected.map((model) => model.forward(x).logits);
      expect(ensemble.forward(x).logits.sub(a.add(b).div(2)).abs().max().item()).toBeLessThan(1e-6);
    });
    expect(ensemble.dependsOnBatch).toBe(false);
    for (const model of expected) model.dispose();
  }
  expect(liveTensors()).toBe(before);
});

test("T3A adapts a linear classifier batch by batch, and refuses other models", async () => {
  const { path } = await compare({ algorithm: "erm", batchSize: 4 });
  const { path: arm } = await compare({ algorithm: "arm", batchSize: 4 });
  {
    using adapted = new AdaptedModel(await loadModel(path), 5);
    expect(adapted.dependsOnBatch).toBe(true);
    scope(() => {
      const x = samples(6, 8);
      const first = adapted.forward(x).logits.toNumbers();
      adapted.forward(samples(6, 9));
      expect(adapted.forward(x).logits.toNumbers()).not.toEqual(first);
      expect(first.every(Number.isFinite)).toBe(true);
    });
  }
  using model = await loadModel(arm);
  expect(() => new AdaptedModel(model, 5)).toThrow("which already depends on the batch");
});
