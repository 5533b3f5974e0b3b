import { expect, test } from "vitest";
import { bareStep } from "../../tests/support/bare-algorithm.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { irm, irmPenalty } from "./irm.js";

// biome-ignore format: four samples of two classes
const logits = [[2, 0], [0, 1], [1, 1], [-1, 2]];
const y = [0, 1, 0, 0];

test("the penalty is the product of the gradients on even and odd samples, negative here", () => {
  scope(() => {
    const { logs, loss } = bareStep({ algorithm: irm, domains: [{ logits, y }] });
    const { nll, penalty } = logs as Record<string, Tensor>;
    expect(penalty.item()).toBeCloseTo(-0.154295, 6);
    expect(nll.item()).toBeCloseTo(1.045481, 6);
    expect(loss.item()).toBeCloseTo(1.045481 - 0.154295, 6);
  });
});

test("a domain with one sample has no odd half, and is refused", () => {
  scope(() => {
    const one = () => irmPenalty(tensor([logits[0]]), tensor([0], { dtype: "int64" }));
    expect(one).toThrow("expected at least 2 samples a domain, got 1. Raise the batch size");
  });
});
