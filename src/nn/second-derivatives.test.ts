/**
 * Compares second derivatives of nudge::conv2d and of the fused operators with those of ATen's convolution and of the
 * compositions that they replace, in channels-last layout and on every device.
 */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { devices } from "../engine/device.js";
import type { DType } from "../engine/dtype.js";
import {
  biasClamp,
  biasClampTwice,
  conv2d,
  depthwise,
  depthwiseClamp,
  foldNorms,
  groupedConv,
  twiceConv2d,
} from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { Conv2d } from "./conv.js";
import { withSecondDerivatives } from "./second-derivatives.js";

const EVERYWHERE = devices().filter((device) => device === "cpu" || device === "cuda:0");
const halfOn = (device: string): DType => (device === "cpu" ? "float64" : "bfloat16");

function made(name: string, shape: number[], device: string, dtype: DType = halfOn(device)): Tensor {
  const memoryFormat = shape.length === 4 ? "channels_last" : "contiguous";
  return formulaTensor(name, shape, { dtype: "float32" }).to({ device, dtype, memoryFormat }).requiresGrad_();
}

const copiesIn64 = (tensors: readonly Tensor[]): Tensor[] =>
  tensors.map((each) => each.detach().to({ dtype: "float64" }).requiresGrad_());

/**
 * Returns the second derivatives of a function's outputs with respect to all inputs: the gradient of a product of the first
 * gradients, which depend on the outputs through their squares, with fixed directions.
 */
function secondDerivatives(run: (inputs: Tensor[]) => Tensor[], inputs: Tensor[]): Tensor[] {
  const outputs = run(inputs);
  const first = outputs.reduce(
    (sum, y, i) =>
      sum.add(
        y
          .square()
          .mul(fixed(`y${i}`, y))
          .sum(),
      ),
    outputs[0].mul(0).sum(),
  );
  const gradients = grad(first, inputs, { createGraph: true });
  const second = gradients.reduce((sum, each, i) => sum.add(each.mul(fixed(`g${i}`, each)).sum()), first.mul(0));
  return grad(second, inputs);
}

const fixed = (name: string, like: Tensor): Tensor =>
  formulaTensor(name, [...like.shape], { dtype: "float32" }).to({ device: like.device, dtype: like.dtype });

/** Relative to the largest number, because bfloat16 rounds every intermediate map. */
function expectSame(got: readonly Tensor[], expected: readonly Tensor[], rounding: number): void {
  for (const [i, each] of got.entries()) {
    const largest = expected[i].abs().max().item();
    expect(each.shape).toEqual(expected[i].shape);
    expectClose(each.detach().to({ dtype: "float64" }), expected[i], {
      ...{ rtol: 0, atol: rounding * largest, what: `input ${i}` },
    });
  }
}

const roundingOn = (device: string): number => (device === "cpu" ? 1e-12 : 2 ** -4);

/** Inputs, outputs, groups, kernel, stride and padding. */
const CONVOLUTIONS = [
  [6, 4, 1, 3, 1, 1],
  [6, 4, 1, 5, 2, 2],
  [6, 6, 6, 3, 2, 1],
  [8, 12, 4, 3, 1, 0],
  [5, 7, 1, 1, 1, 0],
  [6, 6, 6, 7, 1, 3],
];

test.each(CONVOLUTIONS)(
  "conv2d has ATen's values and first to third derivatives (%i → %i channels, %i groups, kernel %i, stride %i, padding %i)",
  (inputs, outputs, groups, kernel, stride, padding) => {
    for (const memoryFormat of ["contiguous", "channels_last"] as const)
      for (const hasBias of [false, true])
        scope(() => {
          const weight = made("w", [outputs, inputs / groups, kernel, kernel], "cpu");
          const x = made("x", [2, inputs, 9, 8], "cpu").detach().to({ memoryFormat }).requiresGrad_();
          const all = [x, weight, ...(hasBias ? [made("b", [outputs], "cpu")] : [])];
          const own = ([x, w, b]: Tensor[]) => [twiceConv2d(x, w, b ?? null, stride, padding, groups)];
          const aten = ([x, w, b]: Tensor[]) => [conv2d(x, w, b ?? null, stride, padding, 1, groups)];
          expect(own(all)[0].toNumbers()).toEqual(aten(all)[0].toNumbers());
          const gradient = made("g", [...own(all)[0].shape], "cpu");
          const [first, expected] = [own, aten].map((run) => grad(run(all), all, { gradient }));
          for (const [i, each] of first.entries()) expectClose(each, expected[i], { rtol: 1e-12, atol: 1e-12 });
          expectSame(secondDerivatives(own, all), secondDerivatives(aten, all), 1e-12);
          const thrice = (run: typeof own): Tensor[] =>
            secondDerivatives((inputs) => grad(run(inputs)[0].pow(3).sum(), inputs, { createGraph: true }), all);
          expectSame(thrice(own), thrice(aten), 1e-11);
        });
  },
);

test("only the needed gradients are computed: of a picture, which requires none", () => {
  scope(() => {
    const [x, weight] = [made("x", [2, 3, 7, 7], "cpu").detach(), made("w", [4, 3, 3, 3], "cpu")];
    const penalty = (conv: typeof twiceConv2d | undefined): Tensor => {
      const y = conv ? conv(x, weight, null, 2, 1, 1) : conv2d(x, weight, null, 2, 1, 1, 1);
      const [inner] = grad(y.square().sum(), [weight], { createGraph: true });
      return grad(inner.square().sum(), [weight])[0];
    };
    expectSame([penalty(twiceConv2d)], [penalty(undefined)], 1e-12);
  });
});

test("a convolution layer has the same second derivatives inside withSecondDerivatives", () => {
  scope(() => {
    const layer = new Conv2d(6, 6, { kernel: 3, padding: 1, groups: 6 }).initialize(new Random(0));
    const x = made("x", [2, 6, 5, 5], "cpu", "float32");
    const run = (): Tensor[] => {
      const [inner] = grad(layer.forward(x).square().sum(), [x], { createGraph: true });
      return grad(inner.square().sum(), [layer.weight]);
    };
    const own = withSecondDerivatives(run);
    expectSame(own, copiesIn64(run()), 1e-6);
    layer.dispose();
  });
});

for (const device of EVERYWHERE) {
  /**
   * The clamped sum in float64, with the operator's result: rounding to bfloat16 can move a value across a bound, and its
   * gradient is then 0.
   */
  const clampedAs = (out: Tensor, sum: Tensor, low: number, high: number): Tensor => {
    const result = out.detach().to({ dtype: "float64" });
    const inside = sum.mul(result.gt(low).logicalAnd(result.lt(high)).toDType("float64"));
    return inside.add(result.sub(inside.detach()));
  };
  const [low, high] = [-0.125, 0.625];

  test.each([1, 2])(`${device}: depthwise and depthwise_clamp can be differentiated twice (stride %i)`, (stride) => {
    scope(() => {
      const all = [made("x", [2, 16, 9, 8], device), made("w", [16, 1, 3, 3], device)];
      const bias = made("b", [16], device, device === "cpu" ? "float64" : "float32");
      const plain = ([x, w]: Tensor[]): Tensor => conv2d(x, w, null, stride, 1, 1, 16);
      expectSame(
        secondDerivatives(([x, w]) => [depthwise(x, w, stride)], all),
        secondDerivatives((inputs) => [plain(inputs)], copiesIn64(all)),
        roundingOn(device),
      );
      const out = depthwiseClamp(all[0], all[1], bias, stride, low, high);
      expectSame(
        secondDerivatives(([x, w, b]) => [depthwiseClamp(x, w, b, stride, low, high)], [...all, bias]),
        secondDerivatives(
          ([x, w, b]) => [clampedAs(out, plain([x, w]).add(b.view(1, -1, 1, 1)), low, high)],
          copiesIn64([...all, bias]),
        ),
        roundingOn(device),
      );
    });
  });

  test.each([
    [low, high],
    [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])(`${device}: bias_clamp and bias_clamp_twice can be differentiated twice (%d to %d)`, (low, high) => {
    scope(() => {
      const all = [
        ...["y", "residual"].map((name) => made(name, [3, 16, 5, 7], device)),
        made("b", [16], device, device === "cpu" ? "float64" : "float32"),
      ];
      const out = biasClamp(all[0], all[2], all[1], low, high);
      const expected = (uses: number): Tensor[] =>
        secondDerivatives(([y, residual, b]) => {
          const sum = y.add(b.view(1, -1, 1, 1)).add(residual);
          return Array.from({ length: uses }, () => clampedAs(out, sum, low, high));
        }, copiesIn64(all));
      const once = secondDerivatives(([y, residual, b]) => [biasClamp(y, b, residual, low, high)], all);
      expectSame(once, expected(1), roundingOn(device));
      const twice = secondDerivatives(([y, residual, b]) => biasClampTwice(y, b, residual, low, high), all);
      expectSame(twice, expected(2), roundingOn(device));
    });
  });

  test(`${device}: fold_norms can be differentiated twice, also if some results are not used`, () => {
    scope(() => {
      const dtype = device === "cpu" ? "float64" : "float32";
      const shapes = [
        [6, 4, 1, 1],
        [5, 1, 3, 3],
      ];
      const of = (name: string): Tensor[] => shapes.map(([c], i) => made(`${name}${i}`, [c], device, dtype));
      const [weights, gammas, betas] = [
        shapes.map((shape, i) => made(`w${i}`, shape, device, dtype)),
        of("γ"),
        of("β"),
      ];
      const means = of("mean").map((each) => each.detach());
      const variances = of("variance").map((each) => each.detach().square().add(0.5));
      const run = (inputs: Tensor[], half: boolean): Tensor[] => {
        const constants = [...means, ...variances].map((each) => each.toDType(inputs[0].dtype));
        const all = foldNorms([...inputs, ...constants], [1e-5, 1e-3], half);
        return [all[0], all[1], all[2]]; // not the second shift
      };
      const composed = ([w0, w1, gamma0, gamma1, beta0]: Tensor[]): Tensor[] => {
        const scales = [gamma0, gamma1].map((gamma, i) =>
          gamma.div(variances[i].toDType(gamma.dtype).add([1e-5, 1e-3][i]).sqrt()),
        );
        const folded = [w0, w1].map((weight, i) => weight.mul(scales[i].view(-1, 1, 1, 1)));
        return [...folded, beta0.sub(means[0].toDType(beta0.dtype).mul(scales[0]))];
      };
      const inputs = [...weights, ...gammas, ...betas];
      const needed = inputs.slice(0, -1);
      for (const half of device === "cpu" ? [false] : [false, true])
        expectSame(
          secondDerivatives((some) => run([...some, betas[1]], half), needed),
          secondDerivatives(composed, copiesIn64(needed)),
          half ? 2 ** -4 : device === "cpu" ? 1e-12 : 1e-4,
        );
    });
  });

  test(`${device}: grouped_conv can be differentiated twice`, () => {
    scope(() => {
      const all = [made("x", [2, 16, 6, 7], device), made("w", [16, 8, 3, 3], device)];
      expectSame(
        secondDerivatives(([x, w]) => [groupedConv(x, w, 2, 1, 2, 8)], all),
        secondDerivatives(([x, w]) => [conv2d(x, w, null, 2, 1, 1, 2)], copiesIn64(all)),
        roundingOn(device),
      );
    });
  });
}
