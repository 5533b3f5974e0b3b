import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { Mlp } from "../backbones/mlp.js";
import { zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { Linear, ReLU, Sequential } from "../nn/index.js";
import { Learner } from "../training/learner.js";
import { errors, fishr, gradientVariance } from "./fishr.js";

test("the variance of the head's gradients has the closed form's values", () => {
  scope(() => {
    const z = tensor([[1, 0], [0, 2]], { dtype: "float64" }); // biome-ignore format: a row a sample
    const delta = errors(zeros([2, 2], { dtype: "float64" }), tensor([0, 1], { dtype: "int64" }));
    expectClose(delta, [[-0.5, 0.5], [0.5, -0.5]], { rtol: 1e-15 }); // biome-ignore format: a row a sample
    expectClose(gradientVariance(z, delta), [0.0625, 0.25, 0.0625, 0.25, 0.25, 0.25], { rtol: 1e-15 });
  });
});

const makeBackbone = () => new Mlp({ inputShape: [2], width: 4 }).initialize(new Random(0));

test("a head that is not linear is refused, and so is an ema of 1", () => {
  const options = { algorithm: fishr, makeBackbone, classes: 2, domains: 2 };
  const makeClassifier = (inputs: number, outputs: number) => new Sequential(new Linear(inputs, outputs), new ReLU());
  scope(() => {
    expect(() => new Learner({ ...options, makeClassifier })).toThrow("gradients of a linear classifier");
    expect(() => new Learner({ ...options, hparams: { ema: 1 } })).toThrow("from 0 to just below 1, got 1");
  });
});
