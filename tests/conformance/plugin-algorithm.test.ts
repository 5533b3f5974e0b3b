/** The example of an algorithm outside the library, run as its reader would. */

import { expect, test, vi } from "vitest";
import { spectralDecoupling } from "../../examples/plugin-algorithm/spectral-decoupling.mjs";
import { algorithms } from "../../src/algorithms/index.js";
import { liveTensors } from "../../src/engine/device.js";
import { scope } from "../../src/engine/scope.js";
import { crossEntropy } from "../../src/nn/index.js";
import { Learner } from "../../src/training/learner.js";
import { CLASSES, DOMAINS, tinyBackbone, tinyBatch, vectors } from "../support/tiny-data.js";

const learnerWith = (penaltyWeight: number): Learner =>
  new Learner({
    algorithm: spectralDecoupling,
    makeBackbone: () => tinyBackbone(vectors, 0),
    classes: CLASSES,
    domains: DOMAINS,
    hparams: { penaltyWeight, lr: 1e-3 },
  });

test("the loss of the plug-in is the cross-entropy plus its weight times the mean squared logit", () => {
  scope(() => {
    using learner = learnerWith(0.5);
    const batch = tinyBatch(vectors, 0);
    const parts = batch.map(({ x, y }) => {
      const logits = learner.predict(x);
      return { error: crossEntropy(logits, y).item(), square: logits.square().mean().item() };
    });
    const mean = (values: number[]): number => values.reduce((sum, each) => sum + each) / values.length;
    const penalty = mean(parts.map(({ square }) => square));
    const logs = learner.update(batch, 0);
    expect(logs.penalty).toBeCloseTo(penalty, 5);
    expect(logs.loss).toBeCloseTo(mean(parts.map(({ error }) => error)) + 0.5 * penalty, 5);
  });
});

test("the plug-in is not part of the library", () => {
  expect(Object.keys(algorithms)).not.toContain(spectralDecoupling.id);
});

test("the script of the example learns a held-out domain and leaves no tensors behind", async () => {
  const before = liveTensors();
  const log = vi.spyOn(console, "log").mockReturnValue();
  try {
    await import("../../examples/plugin-algorithm/run.mjs");
    const lines = log.mock.calls.map(([line]) => String(line));
    expect(lines[0]).toMatch(/^step 0: loss [\d.]+, mean squared logit [\d.]+$/);
    const accuracy = Number(/^accuracy on an unseen domain: ([\d.]+)$/.exec(lines.at(-1) ?? "")?.[1]);
    expect(accuracy).toBeGreaterThan(0.8); // a coin has 0.5
  } finally {
    log.mockRestore();
  }
  expect(liveTensors()).toBe(before);
});
