/**
 * Compares the operators of native/src/layer-norm.cc and channel-factors.cc with the equivalent compositions in float64 on
 * every device.
 */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { devices } from "../engine/device.js";
import type { DType } from "../engine/dtype.js";
import { channelMean, channelScale, fusedLayerNorm, layerNorm, scaleAdd } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";

const EVERYWHERE = devices().filter((device) => device === "cpu" || device === "cuda:0");

function made(name: string, shape: number[], device: string, dtype: DType = "float32"): Tensor {
  const values = formulaTensor(name, shape, { dtype: "float32" });
  const memoryFormat = shape.length === 4 ? "channels_last" : "contiguous";
  return values.to({ device, dtype, memoryFormat });
}

/** Both results are computed from the operator's inputs, so that only its own rounding error remains. */
const wide = (x: Tensor): Tensor => x.detach().to({ dtype: "float64" });

/** The outputs of a computation and the gradients of the inputs for given gradients of the outputs. */
function run(inputs: Tensor[], gradients: Tensor[], compute: (inputs: Tensor[]) => Tensor[]): Tensor[] {
  const outputs = compute(inputs);
  const products = outputs.map((each, i) => each.to({ dtype: "float64" }).mul(wide(gradients[i])).sum());
  return [
    ...outputs,
    ...grad(
      products.reduce((a, b) => a.add(b)),
      inputs,
    ),
  ];
}

/** Compares an operator with the composition of its inputs in float64. */
function compare(
  what: string,
  inputs: Tensor[],
  gradients: Tensor[],
  fused: (inputs: Tensor[]) => Tensor[],
  composed: (inputs: Tensor[]) => Tensor[],
): void {
  const got = run(
    inputs.map((each) => each.detach().requiresGrad_()),
    gradients,
    fused,
  );
  const expected = run(
    inputs.map((each) => wide(each).requiresGrad_()),
    gradients,
    composed,
  );
  for (const [i, each] of got.entries()) {
    const rounding = each.dtype === "bfloat16" ? 2 ** -7 : 1e-5;
    const size = expected[i].abs().max().item();
    expectClose(wide(each), expected[i], { rtol: rounding, atol: rounding * size, what: `${what}, ${i}` });
  }
}

const EPS = 1e-6;

for (const device of EVERYWHERE) {
  const halves: DType[] = device === "cpu" ? ["float32"] : ["float32", "bfloat16"];

  // One vector per thread, a partly filled warp, several vectors, and more than the kernels support.
  test.each([4, 96, 200, 768, 1024, 1028])(
    `${device}: layer_norm and its gradients are the composition's (width %i)`,
    (width) => {
      for (const dtype of halves)
        for (const branch of [undefined, "float32", "bfloat16"] as const)
          for (const half of [false, true])
            scope(() => {
              if (branch && dtype === "bfloat16") return; // the sum has the dtype of x
              const shape = [3, 7, width];
              const inputs = [
                made("weight", [width], device),
                made("bias", [width], device),
                made("x", shape, device, dtype),
              ];
              if (branch) inputs.push(made("branch", shape, device, branch));
              const gradients = [
                made("g", shape, device, half ? "bfloat16" : "float32"),
                made("h", shape, device, dtype),
              ];
              compare(
                `${dtype}, branch ${branch}, half ${half}`,
                inputs,
                gradients,
                ([weight, bias, x, r]) => {
                  const made = fusedLayerNorm(x, r ?? null, weight, bias, EPS, half);
                  expect(made.map((each) => each.dtype)).toEqual([half ? "bfloat16" : "float32", dtype]);
                  return made;
                },
                ([weight, bias, x, r]) => {
                  const sum = r ? x.add(r) : x;
                  return [layerNorm(sum, [width], weight, bias, EPS, true), sum];
                },
              );
            });
    },
  );

  test(`${device}: layer_norm without a gradient of the sum, or only with one`, () => {
    scope(() => {
      const [x, branch] = ["x", "branch"].map((name) => made(name, [5, 16], device).requiresGrad_());
      const [weight, bias] = ["weight", "bias"].map((name) => made(name, [16], device).requiresGrad_());
      const both = (): Tensor[] => fusedLayerNorm(x, branch, weight, bias, EPS, false);
      const expected = layerNorm(x.add(branch), [16], weight, bias, EPS, true);
      const inputs = [x, branch, weight, bias];
      const [got, wanted] = [both()[0], expected].map((each) => grad(each.square().mean(), inputs));
      for (const [i, each] of got.entries()) expectClose(each, wanted[i], { rtol: 1e-4, atol: 1e-6 });
      const sum = both()[1];
      for (const each of grad(sum.square().sum(), [x, branch])) expectClose(each, sum.mul(2), { rtol: 1e-6 });
    });
  });

  // One group of eight, several, and more groups than a block handles; one pixel and several parts of a picture.
  test.each([
    [2, 8, 3, 3],
    [3, 40, 1, 1],
    [2, 264, 5, 7],
    [1, 24, 40, 33],
  ])(
    `${device}: channel_mean and channel_scale and their gradients are the compositions' ([%i, %i, %i, %i])`,
    (...shape) => {
      for (const dtype of halves)
        scope(() => {
          const x = made("x", shape, device, dtype);
          const [means, factors] = ["g", "factors"].map((name) => made(name, shape.slice(0, 2), device));
          const gradient = made("h", shape, device, dtype);
          compare(
            `mean, ${dtype}`,
            [x],
            [means, gradient],
            ([map]) => channelMean(map),
            ([map]) => [map.meanOver([2, 3]), map],
          );
          compare(
            `scale, ${dtype}`,
            [x, factors.toDType(dtype)],
            [gradient],
            ([map, s]) => [channelScale(map, s)],
            ([map, s]) => [map.mul(s.view(...s.shape, 1, 1))],
          );
        });
    },
  );

  test.each([
    [2, 3, 3, 8],
    [3, 5, 7, 96],
    [4, 2, 1, 1024],
    [40, 4, 9, 24],
  ])(`${device}: scale_add and its gradients are the composition's ([%i, %i, %i, %i])`, (...shape) => {
    for (const dtype of ["float32", "bfloat16"] as const)
      for (const drops of [false, true])
        scope(() => {
          const [n, , , channels] = shape;
          const map = (name: string, kind: DType = "float32"): Tensor =>
            made(name, [shape.reduce((a, b) => a * b)], device, kind).view(...shape);
          const keep = drops ? made("keep", [n], device).gt(0).to({ dtype: "float32" }).mul(1.25) : null;
          compare(
            `${dtype}, drops ${drops}`,
            [map("x"), map("branch", dtype), made("gamma", [channels], device)],
            [map("g")],
            ([x, branch, gamma]) => [scaleAdd(x, branch, gamma, keep)],
            ([x, branch, gamma]) => [
              branch
                .mul(gamma)
                .mul(keep ? wide(keep).view(-1, 1, 1, 1) : 1)
                .add(x),
            ],
          );
        });
  });

  test(`${device}: all can be differentiated twice, as gradient penalties do`, () => {
    scope(() => {
      const x = made("x", [3, 8, 2, 2], device).requiresGrad_();
      const [weight, bias, gamma] = ["weight", "bias", "gamma"].map((name) => made(name, [8], device).requiresGrad_());
      const keep = made("keep", [3], device).square().add(0.5);
      const inputs = [x, weight, bias, gamma];
      const penalty = (fused: boolean): Tensor[] => {
        const [mean, same] = fused ? channelMean(x) : [x.meanOver([2, 3]), x];
        const factors = mean.sigmoid();
        const scaled = fused ? channelScale(same, factors) : x.mul(factors.view(3, 8, 1, 1));
        const rows = scaled.permute([0, 2, 3, 1]).contiguous();
        const [normed, sum] = fused
          ? fusedLayerNorm(rows, rows.square(), weight, bias, EPS, false)
          : [layerNorm(rows.add(rows.square()), [8], weight, bias, EPS, true), rows.add(rows.square())];
        const out = fused
          ? scaleAdd(sum, normed, gamma, keep)
          : normed
              .mul(gamma)
              .mul(keep.view(-1, 1, 1, 1))
              .add(sum);
        const inner = grad(out.pow(3).mean(), inputs, { createGraph: true });
        return grad(
          inner.map((each) => each.square().sum()).reduce((a, b) => a.add(b)),
          inputs,
        );
      };
      const [got, expected] = [penalty(true), penalty(false)];
      for (const [i, each] of got.entries()) {
        expect(expected[i].abs().max().item()).toBeGreaterThan(1e-3);
        expectClose(each, expected[i], { rtol: 1e-3, atol: 1e-4 * expected[i].abs().max().item(), what: `input ${i}` });
      }
    });
  });
}
