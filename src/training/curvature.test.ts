import { expect, test } from "vitest";
import { erm } from "../algorithms/erm.js";
import { Mlp } from "../backbones/index.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { sharpness } from "./curvature.js";
import { Learner } from "./learner.js";

const points = () => ({
  x: tensor([
    [1, 2],
    [-1, 0.5],
    [0.3, -2],
    [-2, -1],
  ]),
  y: tensor([0, 1, 1, 0], { dtype: "int64" }),
});

const makeLearner = () =>
  new Learner({
    algorithm: erm,
    makeBackbone: () => new Mlp({ inputShape: [2], width: 8 }).initialize(new Random(0, ["backbone"])),
    classes: 2,
    domains: 1,
  });

test("sharpness is the radius times the gradient's norm for a small radius, and leaves the weights as they were", () => {
  using learner = makeLearner();
  scope(() => {
    const { x, y } = points();
    const weights = () => [...learner.parameters().values()].map((each) => each.toNumbers());
    const before = weights();
    const loss = learner.evaluationLoss(x, y);
    loss.backward();
    const size = Math.hypot(...[...learner.parameters().values()].map((each) => each.grad?.norm().item() ?? 0));
    expect(sharpness(learner, x, y, 1e-3) / (1e-3 * size)).toBeCloseTo(1, 1);
    expect(sharpness(learner, x, y, 0.1)).toBeGreaterThan(sharpness(learner, x, y, 0.01));
    expect(weights()).toEqual(before);
  });
});
