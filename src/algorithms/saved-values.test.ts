/** Checks the running statistics of a backbone for methods that temporarily change its weights. */

import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { Backbone } from "../backbones/index.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { BatchNorm1d } from "../nn/index.js";
import { Learner } from "../training/learner.js";
import type { AlgorithmDefinition } from "./algorithm.js";
import { fish } from "./fish.js";
import { mldg } from "./mldg.js";

/** A backbone that consists of one batch norm. */
class NormOnly extends Backbone {
  readonly width = 2;
  readonly inputShape = [2];
  readonly norm = new BatchNorm1d(2);

  forward(x: Tensor): Tensor {
    return this.norm.forward(x);
  }
}

const x = (domain: number): Tensor => formulaTensor(`x ${domain}`, [4, 2], { around: domain });

/** Returns the buffers after one update on three domains. */
function buffersAfter(algorithm: AlgorithmDefinition): { mean: number[]; batches: number } {
  using learner = new Learner({
    algorithm,
    makeBackbone: () => new NormOnly().initialize(new Random(0)),
    classes: 2,
    domains: 3,
  });
  scope(() =>
    learner.update(
      [0, 1, 2].map((domain) => ({ x: x(domain), y: tensor([0, 1, 0, 1], { dtype: "int64" }) })),
      0,
    ),
  );
  const state = learner.stateDict();
  return {
    mean: state.get("backbone.norm.running_mean")!.toNumbers(),
    batches: state.get("backbone.norm.num_batches_tracked")!.item(),
  };
}

test("Fish moves the statistics half of the distance, and rounds the number of batches down", () => {
  const { mean, batches } = buffersAfter(fish);
  expect(batches).toBe(1); // half of 3
  const reached = scope(() =>
    [0, 1, 2]
      .map((domain) => x(domain).mean(0).toNumbers())
      .reduce((a, b) => a.map((v, i) => 0.9 * v + 0.1 * b[i]), [0, 0]),
  );
  expectClose(
    mean,
    reached.map((value) => value / 2),
    { rtol: 1e-5 },
  );
});

test("MLDG leaves the statistics where they were, as those of the copies are lost", () => {
  expect(buffersAfter(mldg)).toEqual({ mean: [0, 0], batches: 0 });
});
