import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { devices } from "../engine/device.js";
import { _foreachAddScalar_, full, updateByAdam } from "../engine/ops.generated.js";
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

const EVERYWHERE = devices().filter((device) => device === "cpu" || device === "cuda:0");

// More tensors than one launch updates, with less than a block of values, several blocks and none.
test.each(EVERYWHERE)("%s: nudge::adam updates as Adam does", (device) => {
  for (const weightDecay of [0, 0.1])
    scope(() => {
      const dtype = device === "cpu" ? "float64" : "float32";
      const sizes = Array.from({ length: 90 }, (_, i) => (i === 7 ? 9000 : i));
      const drawn = (i: number, step: number): number[] =>
        Array.from({ length: sizes[i] }, (_, k) => Math.sin(1 + i + 7 * k + 3 * step) * (k % 5 === 0 ? 1e-4 : 1));
      const expected = sizes.map((_, i) => leaf(drawn(i, 0), drawn(i, 1)));
      const settings = { lr: 0.01, betas: [0.9, 0.99], eps: 1e-8, weightDecay } as const;
      using optimizer = new Adam(expected, settings);
      const lists = sizes.map((_, i) => {
        const parameter = tensor(drawn(i, 0), { dtype: "float64" }).to({ device, dtype });
        return [parameter, parameter.mul(0), parameter.mul(0), full([1], 0, { device })];
      });
      const [parameters, means, squares, steps] = [0, 1, 2, 3].map((k) => lists.map((list) => list[k]));
      for (let step = 1; step <= 5; step++) {
        const gradients = sizes.map((_, i) => tensor(drawn(i, step), { dtype: "float64" }).to({ device, dtype }));
        for (const [i, x] of expected.entries()) x.grad = tensor(drawn(i, step), { dtype: "float64" });
        optimizer.step();
        _foreachAddScalar_(steps, 1);
        updateByAdam(parameters, gradients, means, squares, steps, 0.01, 0.9, 0.99, weightDecay, 1e-8);
      }
      for (const [i, x] of expected.entries())
        if (sizes[i] > 0)
          expectClose(
            parameters[i].to({ device: "cpu", dtype: "float64" }),
            x,
            dtype === "float64" ? { rtol: 1e-12, atol: 1e-15 } : { rtol: 1e-5, atol: 1e-6 },
          );
      expect(() => updateByAdam(parameters, [], means, squares, steps, 0.01, 0.9, 0.99, 0, 1e-8)).toThrow(
        /expected lists of 90/,
      );
    });
});
