import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { Adam, AdamW } from "./index.js";

const leaf = (value: number[], gradient: number[]): Tensor => {
  const x = tensor(value, { dtype: "float64" }).requiresGrad_();
  x.grad = tensor(gradient, { dtype: "float64" });
  return x;
};

test("Adam's first step has the learning rate's length along every axis, whatever the gradient's", () => {
  scope(() => {
    const x = leaf([1, 1, 1], [1e-3, -5, 1e4]);
    using optimizer = new Adam([x], { lr: 0.01, eps: 0 });
    optimizer.step();
    expectClose(x, [0.99, 1.01, 0.99], { rtol: 1e-14 });
  });
});

test("a constant gradient goes on moving Adam by the learning rate: the bias correction is exact", () => {
  scope(() => {
    const x = leaf([0], [3]);
    using optimizer = new Adam([x], { lr: 0.01, eps: 0, betas: [0.8, 0.95] });
    for (let i = 0; i < 10; i++) optimizer.step();
    expect(x.item()).toBeCloseTo(-0.1, 13);
  });
});

test("Adam's decay goes through the moments, AdamW's past them", () => {
  scope(() => {
    // With a zero gradient only the weight decay acts: Adam normalizes it to the learning rate, AdamW shrinks by lr·λ.
    const coupled = leaf([2], [0]);
    const decoupled = leaf([2], [0]);
    using adam = new Adam([coupled], { lr: 0.1, weightDecay: 0.5, eps: 0 });
    using adamw = new AdamW([decoupled], { lr: 0.1, weightDecay: 0.5 });
    adam.step();
    adamw.step();
    expect(coupled.item()).toBeCloseTo(1.9, 14);
    expect(decoupled.item()).toBeCloseTo(2 * (1 - 0.1 * 0.5), 14);
  });
});

test("Adam does not change the gradient, even with weight decay", () => {
  scope(() => {
    const x = leaf([2], [1]);
    using optimizer = new Adam([x], { weightDecay: 0.5 });
    optimizer.step();
    expect(x.grad?.item()).toBe(1);
  });
});
