import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { noGrad, tensor } from "../engine/tensor.js";
import { Linear } from "../nn/index.js";
import { keptFeatures, quantile } from "./rsc.js";

test("the quantile interpolates between order statistics and meets them exactly", () => {
  scope(() => {
    const row = tensor([[0.1, 0.4, 0.2, 0.3]], { dtype: "float64" });
    expect(quantile(row, 1 - 1 / 3).item()).toBe(0.3);
    expect(quantile(row, 1).item()).toBe(0.4);
    expect(quantile(row, 0).item()).toBe(0.1);
    expectClose(quantile(row, 0.5), [0.25], { rtol: 1e-15 });
  });
});

// For a linear head, the gradient of the correct logit is the weight of the correct class.
function mask(options: { featureDrop: number; sampleDrop: number }) {
  using head = new Linear(4, 2).to({ dtype: "float64" });
  noGrad(() => {
    head.weight.copy_(tensor([[1, 4, 2, 3], [-4, 1, 0, 0]])); // biome-ignore format: a row a class
    head.bias!.fill_(0);
  });
  const z = tensor([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], { dtype: "float64" }); // biome-ignore format: a row a sample
  return keptFeatures(head, z, tensor([0, 1, 0], { dtype: "int64" }), options).toArray();
}

test("with nothing to drop the largest feature is muted all the same, in the sample that loses most by it", () => {
  scope(() => {
    // Without feature 1, class 0 leads by 10 instead of 13. This hurts sample 0 (of class 0), helps sample 1, and does
    // not change sample 2.
    // biome-ignore format: a row a sample
    expect(mask({ featureDrop: 0, sampleDrop: 0 })).toEqual([[1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]);
  });
});

test("a larger share mutes more features, and a share of 1 of the samples all of them", () => {
  scope(() => {
    expect(mask({ featureDrop: 1 / 3, sampleDrop: 1 })).toEqual([[1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0]]); // biome-ignore format: rows
  });
});
