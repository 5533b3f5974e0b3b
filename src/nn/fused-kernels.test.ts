/** Compares the operators of fused-kernels.ts with the equivalent compositions in float64 on every device. */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { devices } from "../engine/device.js";
import type { DType } from "../engine/dtype.js";
import {
  channelMean,
  channelScale,
  conv2d,
  foldNorm,
  foldNorms,
  fusedLayerNorm,
  fusedLinear,
  fusedMaxPool,
  groupedConv,
  layerNorm,
  linear,
  linearGelu,
  scaleAdd,
  wideDepthwise,
} from "../engine/ops.generated.js";
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
    const rounding = each.dtype === "bfloat16" ? 2 ** -7 : each.dtype === "float64" ? 1e-12 : 1e-5;
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

  // Groups that stay apart, pairs of groups, and all groups in one dense convolution; a kernel of one pixel; other outputs
  // than inputs; one group.
  test.each([
    { groups: 4, inputs: 32, outputs: 32, stride: 1, size: 3 },
    { groups: 4, inputs: 32, outputs: 32, stride: 2, size: 3 },
    { groups: 6, inputs: 48, outputs: 96, stride: 2, size: 1 },
    { groups: 1, inputs: 16, outputs: 24, stride: 1, size: 3 },
    { groups: 11, inputs: 88, outputs: 88, stride: 1, size: 3 }, // apart, these are too many
  ])(
    `${device}: grouped_conv and its gradients are those of a convolution ($groups groups, $inputs to $outputs channels, stride $stride)`,
    ({ groups, inputs, outputs, stride, size }) => {
      const padding = (size - 1) / 2;
      for (const dtype of [...halves, "float64"] as const)
        for (const widest of [8, 32, 1000])
          scope(() => {
            const x = made("x", [3, inputs, 9, 8], device, dtype);
            const weight = made("weight", [outputs, inputs / groups, size, size], device, dtype);
            compare(
              `${dtype}, at most ${widest} channels`,
              [x, weight],
              [made("g", [3, outputs, Math.ceil(9 / stride), Math.ceil(8 / stride)], device, dtype)],
              ([map, w]) => {
                const y = groupedConv(map, w, stride, padding, groups, widest);
                expect(y.isChannelsLast).toBe(true);
                return [y];
              },
              ([map, w]) => [conv2d(map, w, null, stride, padding, 1, groups)],
            );
          });
    },
  );

  test(`${device}: grouped_conv computes only the gradients that are needed, and refuses other shapes`, () => {
    scope(() => {
      const x = made("x", [2, 32, 5, 5], device);
      const weight = made("weight", [32, 8, 3, 3], device);
      for (const [i, input] of [x, weight].entries()) {
        const given = input.clone().requiresGrad_();
        const run = (fused: boolean): Tensor => {
          const [map, w] = i === 0 ? [given, weight] : [x, given];
          const y = fused ? groupedConv(map, w, 1, 1, 4, 16) : conv2d(map, w, null, 1, 1, 1, 4);
          return grad(y.square().sum(), [given])[0];
        };
        expectClose(run(true), run(false), { rtol: 1e-4, atol: 1e-3 });
      }
      expect(() => groupedConv(x, weight, 1, 1, 2, 16)).toThrow(/grouped_conv: expected a map/);
      expect(() => groupedConv(x, weight, 0, 1, 4, 16)).toThrow(/positive/);
    });
  });

  test(`${device}: fold_norms has the numbers of fold_norm for each layer`, () => {
    // More layers than one launch takes; only some results have gradients.
    const shapes = Array.from({ length: 43 }, (_, i) => (i % 2 ? [8 + i, 16, 3, 3] : [24, 8, 1, 1]));
    for (const half of [false, true])
      scope(() => {
        const each = shapes.map((shape, i) => {
          const [channels] = shape;
          const weight = made(`weight${i}`, shape, device).requiresGrad_();
          const [gamma, beta] = ["gamma", "beta"].map((name) => made(name + i, [channels], device).requiresGrad_());
          return [
            weight,
            gamma,
            beta,
            made(`mean${i}`, [channels], device),
            made(`v${i}`, [channels], device).square(),
          ];
        });
        const tensors = [0, 1, 2, 3, 4].flatMap((k) => each.map((layer) => layer[k]));
        const results = (together: boolean): Tensor[] => {
          const made = together
            ? foldNorms(
                tensors,
                shapes.map(() => 1e-5),
                half,
              )
            : [...each.map(([w, g, b, m, v]) => foldNorm(w, g, b, m, v, 1e-5, half))].reduce<Tensor[]>(
                (all, [weight, shift], i) => {
                  all[i] = weight;
                  all[43 + i] = shift;
                  return all;
                },
                [],
              );
          const loss = made
            .filter((_, i) => i % 43 > 2) // not the first layers
            .map((result) => result.to({ dtype: "float32" }).square().sum())
            .reduce((a, b) => a.add(b));
          const learned = tensors.slice(0, 3 * 43).filter((_, i) => i % 43 > 2);
          return [...made, ...grad(loss, learned)];
        };
        const [got, expected] = [results(true), results(false)];
        expect(got).toHaveLength(expected.length);
        for (const [i, value] of got.entries()) expect(value.sub(expected[i]).abs().max().item(), `${i}`).toBe(0);
        expect(() => foldNorms(tensors.slice(1), [1e-5], half)).toThrow(/fold_norms: expected 5 tensors/);
      });
  });

  // Fewer rows than a block has, and more; columns that are not a multiple of eight.
  test.each([
    [[5, 16], 24],
    [[3, 197, 40], 768],
    [[2, 300, 8], 3072],
    [[4, 7], 10],
  ])(`${device}: the gradients of linear are ATen's (%j, %i outputs)`, (shape, outputs) => {
    for (const dtype of halves)
      scope(() => {
        const inputs = shape.at(-1)!;
        const [x, weight] = [made("x", shape, device, dtype), made("weight", [outputs, inputs], device, dtype)];
        const bias = made("bias", [outputs], device, dtype);
        const gradient = made("g", [...shape.slice(0, -1), outputs], device, dtype);
        compare(
          dtype,
          [x, weight, bias],
          [gradient],
          ([a, b, c]) => [fusedLinear(a, b, c)],
          ([a, b, c]) => [linear(a, b, c)],
        );
        compare(
          `GELU, ${dtype}`,
          [x, weight, bias],
          [gradient],
          ([a, b, c]) => [linearGelu(a, b, c)],
          // GELU is computed from the rounded product.
          ([a, b, c]) => {
            const product = linear(a, b, c);
            return [product.add(wide(linear(x, weight, bias)).sub(product.detach())).gelu()];
          },
        );
      });
  });

  // Even and odd sizes, one row, and equal values, of which the first counts.
  test.each([
    [2, 8, 8, 6],
    [3, 24, 7, 9],
    [1, 64, 1, 5],
  ])(`${device}: max_pool and its gradient are ATen's ([%i, %i, %i, %i])`, (...shape) => {
    for (const dtype of halves)
      scope(() => {
        const x = made("x", shape, device, dtype);
        for (const input of [x, x.mul(4).clamp(0, 1)])
          compare(
            dtype,
            [input],
            [made("g", [shape[0], shape[1], Math.ceil(shape[2] / 2), Math.ceil(shape[3] / 2)], device, dtype)],
            ([map]) => [fusedMaxPool(map)],
            ([map]) => [map.maxPool2d(3, 2, 1)],
          );
      });
  });

  // Narrower than a strip of seven outputs, not a multiple of it, and several strips.
  test.each([
    [2, 8, 5, 3, 7],
    [3, 24, 7, 7, 7],
    [1, 40, 9, 17, 7],
    [2, 16, 14, 14, 5],
    [2, 8, 3, 20, 5],
  ])(
    `${device}: wide_depthwise and its gradients are those of a convolution ([%i, %i, %i, %i], kernel %i)`,
    (n, channels, height, width, size) => {
      for (const dtype of halves)
        for (const hasBias of [false, true])
          scope(() => {
            const inputs = [
              made("x", [n, channels, height, width], device, dtype),
              made("weight", [channels, 1, size, size], device, dtype),
            ];
            if (hasBias) inputs.push(made("bias", [channels], device));
            compare(
              `${dtype}, bias ${hasBias}`,
              inputs,
              [made("g", [n, channels, height, width], device, dtype)],
              ([x, weight, bias]) => [wideDepthwise(x, weight, bias ?? null)],
              ([x, weight, bias]) => [conv2d(x, weight, bias ?? null, 1, (size - 1) / 2, 1, channels)],
            );
          });
    },
  );

  test(`${device}: the convolutions, linear and max_pool can be differentiated twice`, () => {
    scope(() => {
      const dtype = device === "cpu" ? "float64" : "bfloat16";
      const x = made("x", [2, 16, 9, 8], device, dtype).requiresGrad_();
      const kernel = made("kernel", [16, 4, 3, 3], device, dtype).requiresGrad_();
      const wide = made("wide", [16, 1, 5, 5], device, dtype).requiresGrad_();
      const [weight, bias] = [made("weight", [8, 16], device, dtype), made("bias", [8], device, dtype)];
      const square = made("square", [8, 8], device, dtype).requiresGrad_();
      const inputs = [x, kernel, wide, weight.requiresGrad_(), bias.requiresGrad_(), square];
      const penalty = (fused: boolean): Tensor[] => {
        const a = fused ? groupedConv(x, kernel, 1, 1, 4, 8) : conv2d(x, kernel, null, 1, 1, 1, 4);
        const b = fused ? wideDepthwise(a.tanh(), wide, null) : conv2d(a.tanh(), wide, null, 1, 2, 1, 16);
        const c = fused ? fusedMaxPool(b) : b.maxPool2d(3, 2, 1);
        const rows = c.meanOver([2, 3]);
        const z = fused ? fusedLinear(rows, weight, bias) : linear(rows, weight, bias);
        const y = fused ? linearGelu(z, square, bias) : linear(z, square, bias).gelu();
        const inner = grad(y.pow(3).mean(), inputs, { createGraph: true });
        return grad(
          inner.map((each) => each.square().sum()).reduce((p, q) => p.add(q)),
          inputs,
        );
      };
      const [got, expected] = [penalty(true), penalty(false)];
      const rounding = device === "cpu" ? 1e-10 : 0.1;
      for (const [i, each] of got.entries()) {
        const size = expected[i].abs().max().item();
        expect(size).toBeGreaterThan(0);
        expectClose(each, expected[i], { rtol: rounding, atol: rounding * size, what: `input ${i}` });
      }
    });
  });

  test(`${device}: the norms and factors can be differentiated twice, as gradient penalties do`, () => {
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
