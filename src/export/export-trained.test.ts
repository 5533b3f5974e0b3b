/** Models as training writes them, exported: an average of the weights, and an algorithm of a plug-in with its own predict. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { afterAll, expect, test } from "vitest";
import { defineAlgorithm } from "../algorithms/algorithm.js";
import { swad } from "../averaging/index.js";
import { openDataset } from "../data/open-dataset.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { register } from "../library/register.js";
import { train } from "../library/train.js";
import type { Model } from "../model/index.js";
import { crossEntropy } from "../nn/index.js";
import { exportOnnx } from "./export-onnx.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-onnx-trained-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Predicts by the logits of a picture and of its negative. */
const negative = defineAlgorithm({
  id: "negative-erm",
  title: "ERM with negatives",
  paper: "none",
  hparams: {},
  needsDomains: false,
  build: ({ backbone, classifier }) => ({
    modules: { backbone, classifier },
    step({ x, y }) {
      const features = backbone.forward(x);
      const logits = classifier.forward(features);
      return { loss: crossEntropy(logits, y), features, logits };
    },
    predict: (x) =>
      classifier
        .forward(backbone.forward(x))
        .mul(3)
        .add(classifier.forward(backbone.forward(x.mul(-1)))),
  }),
});

async function expectSame(model: Model, name: string): Promise<void> {
  // A few steps leave logits nearly alike, and then a wrong file would pass.
  noGrad(() => model.network.modules.classifier.stateDict().get("weight")!.mul_(10));
  const path = join(folder, `${name}.onnx`);
  exportOnnx(model, path);
  const session = await InferenceSession.create(path, { intraOpNumThreads: 1 });
  for (const count of [1, 5]) {
    const { x, ours } = scope(() => {
      const x = new Random(2).normal_(empty([count, ...model.about.preprocessing.inputShape])).mul_(40);
      return { x: x.data() as Float32Array, ours: model.forward(x).logits.toArray() as number[][] };
    });
    const { logits } = await session.run({
      input: new OrtTensor(x.slice(), [count, ...model.about.preprocessing.inputShape]),
    });
    const theirs = Array.from(logits.data as Float32Array);
    const all = ours.flat();
    if (count > 1) expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(1);
    const classOf = (row: readonly number[]): number => row.indexOf(Math.max(...row));
    const width = ours[0].length;
    for (const [i, row] of ours.entries()) expect(classOf(theirs.slice(i * width, (i + 1) * width))).toBe(classOf(row));
    for (const [i, value] of all.entries()) expect(Math.abs(theirs[i] - value), `${name} ${i}`).toBeLessThan(1e-4);
  }
  await session.release();
}

test.each([
  { name: "swad", averaging: [swad], algorithm: undefined },
  { name: "negative-erm", averaging: [], algorithm: negative },
])("$name: the exported file gives the model's logits", async ({ name, averaging, algorithm }) => {
  if (algorithm) register(algorithm);
  using run = await train({
    dataset: await openDataset("shapes", { options: { perCell: 4, size: 16 } }),
    ...{ testDomains: ["inverted"], backbone: "small-cnn", steps: 30, evaluateEvery: 5, threads: 1, averaging },
    ...(algorithm && { algorithm }),
    settings: { batchSize: 4, lr: 0.01 },
  });
  const { about } = run.model;
  if (algorithm) expect(about.prediction).toMatchObject({ kind: "algorithm", id: name });
  else expect(about.model).toBe("swad");
  await expectSame(run.model, name);
});
