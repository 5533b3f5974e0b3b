import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { devices } from "../engine/device.js";
import { _foreachAddScalar_, empty, full, updateByAdam, zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
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

// With tails of less than eight values, more than one part for a thread, and gradients in another memory format.
test.each([
  [Adam, 0],
  [Adam, 0.1],
  [AdamW, 0.05],
] as const)(
  "on the CPU, %o with weight decay %d has exactly the numbers of the operators one after the other",
  (Kind, weightDecay) => {
    const [lr, beta1, beta2, eps] = [5e-5, 0.9, 0.999, 1e-8];
    const shapes = [[1], [7], [8], [1000], [16_385], [0], [6, 5, 3, 3]];
    scope(() => {
      const normal =
        (...key: (string | number)[]) =>
        (shape: number[], i: number) =>
          new Random(i, key).normal_(empty(shape));
      const parameters = shapes.map(normal("parameter"));
      const expected = parameters.map((each) => ({
        value: each.clone(),
        mean: zeros(each.shape),
        square: zeros(each.shape),
      }));
      using optimizer = new Kind(parameters, { lr, weightDecay, eps, betas: [beta1, beta2] });
      for (let step = 1; step <= 5; step++) {
        const gradients = shapes.map(normal("gradient", step)).map((each, i) => each.mul(10 ** (i - 4)));
        for (const [i, parameter] of parameters.entries())
          parameter.grad = gradients[i].to({ memoryFormat: i === 6 && step === 2 ? "channels_last" : undefined });
        optimizer.step();
        for (const [i, { value, mean, square }] of expected.entries()) {
          if (Kind === AdamW) value.mul_(1 - lr * weightDecay);
          const gradient = Kind === AdamW ? gradients[i] : gradients[i].add(value, { alpha: weightDecay });
          mean.mul_(beta1).add_(gradient, { alpha: 1 - beta1 });
          square.mul_(beta2).addcmul_(gradient, gradient, { value: 1 - beta2 });
          const denominator = square
            .sqrt()
            .div_(Math.sqrt(1 - beta2 ** step))
            .add_(eps);
          value.addcdiv_(mean, denominator, { value: -lr / (1 - beta1 ** step) });
          expect(parameters[i].equal(value), `${shapes[i]}, step ${step}`).toBe(true);
        }
      }
    });
  },
);
