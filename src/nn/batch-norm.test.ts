import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import { BatchNorm1d, BatchNorm2d, convNorm } from "./batch-norm.js";
import { Conv2d } from "./conv.js";

function pair(bias: boolean): { conv: Conv2d; norm: BatchNorm2d } {
  const conv = fillByFormula(new Conv2d(3, 4, { kernel: 3, padding: 1, bias }).to({ dtype: "float64" }), "conv.");
  const norm = fillByFormula(new BatchNorm2d(4).to({ dtype: "float64" }), "norm.");
  norm.frozen = true;
  return { conv, norm };
}

const input = () => formulaTensor("x", [2, 3, 5, 4], { dtype: "float64" });

test.each([true, false])("a folded frozen norm equals the plain one, gradients too (bias: %s)", (bias) => {
  scope(() => {
    const { conv, norm } = pair(bias);
    const x = input().requiresGrad_();
    const wanted = [x, conv.weight, norm.weight, norm.bias, ...(conv.bias ? [conv.bias] : [])];
    const results = [true, false].map((foldable) => {
      norm.foldable = foldable;
      const y = convNorm(conv, norm, x);
      return [y, ...grad(y, wanted, { gradient: formulaTensor("g", y.shape, { dtype: "float64" }) })];
    });
    for (const [i, folded] of results[0].entries()) expectClose(folded, results[1][i], { rtol: 1e-10, atol: 1e-12 });
    conv.dispose();
    norm.dispose();
  });
});

test("the gradient through the fold agrees with finite differences", () => {
  scope(() => {
    const { conv, norm } = pair(true);
    const direction = formulaTensor("g", [2, 4, 5, 4], { dtype: "float64" });
    const value = () => convNorm(conv, norm, input()).square().mul(direction).sum();
    const parameters: Tensor[] = [conv.weight, conv.bias!, norm.weight, norm.bias];
    const gradients = grad(value(), parameters);
    const step = 1e-5;
    for (const [i, parameter] of parameters.entries()) {
      const flat = parameter.detach().view(-1);
      for (const place of [0, flat.numel - 1]) {
        const element = flat.narrow(0, place, 1);
        const at = (shift: number) => {
          element.add_(shift);
          const result = noGrad(() => value().item());
          element.sub_(shift);
          return result;
        };
        const numeric = (at(step) - at(-step)) / (2 * step);
        expectClose([gradients[i].view(-1).toNumbers()[place]], [numeric], { rtol: 1e-7, atol: 1e-8 });
      }
    }
    conv.dispose();
    norm.dispose();
  });
});

test("a frozen norm leaves its statistics alone in training and a plain one does not", () => {
  scope(() => {
    using norm = fillByFormula(new BatchNorm1d(3), "norm.");
    const x = formulaTensor("x", [4, 3], { around: 2 });
    const before = norm.running_mean.toNumbers();
    norm.frozen = true;
    norm.forward(x);
    expect(norm.running_mean.toNumbers()).toEqual(before);
    expect(norm.num_batches_tracked.item()).toBe(0);
    norm.frozen = false;
    norm.forward(x);
    expect(norm.running_mean.toNumbers()).not.toEqual(before);
    expect(norm.num_batches_tracked.item()).toBe(1);
    norm.resetStatistics();
    expect(norm.running_mean.toNumbers()).toEqual([0, 0, 0]);
    expect(norm.running_var.toNumbers()).toEqual([1, 1, 1]);
  });
});

test("training on one value a channel is an error, and leaves the statistics as they were", () => {
  scope(() => {
    using norm = fillByFormula(new BatchNorm1d(3), "norm.");
    const before = norm.running_var.toNumbers();
    expect(() => norm.forward(formulaTensor("x", [1, 3]))).toThrow(
      "BatchNorm1d: training needs at least two values a channel, got float32[1, 3]",
    );
    expect(norm.running_var.toNumbers()).toEqual(before);
    norm.frozen = true;
    expect(norm.forward(formulaTensor("x", [1, 3])).shape).toEqual([1, 3]);
  });
});

test.each([true, false])(
  "bfloat16 in gives bfloat16 out, near float32's, with float32 statistics (frozen: %s)",
  (frozen) => {
    scope(() => {
      using norm = fillByFormula(new BatchNorm2d(3), "norm.");
      norm.frozen = frozen;
      const x = formulaTensor("x", [4, 3, 5, 5], { scale: 2 });
      const y = norm.forward(x.toDType("bfloat16"));
      const mean = norm.running_mean.clone();
      fillByFormula(norm, "norm.");
      expect(y.dtype).toBe("bfloat16");
      expect(norm.running_mean.dtype).toBe("float32");
      // bfloat16 has 8 significant bits. The input and the output, with values up to 4, are each rounded by 2⁻⁸.
      expectClose(y.toDType("float32"), norm.forward(x), { rtol: 0.01, atol: 0.02 });
      expectClose(mean, norm.running_mean, { atol: 0.002 });
    });
  },
);
