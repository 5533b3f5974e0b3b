/**
 * Compares the operators of native/src/fused.cc with the equivalent compositions on every device, in channels-last
 * layout.
 */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { devices } from "../engine/device.js";
import type { DType } from "../engine/dtype.js";
import { biasClamp, biasClampTwice, foldNorm } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";

const EVERYWHERE = devices().filter((device) => device === "cpu" || device === "cuda:0");

/** Numbers of channels: one group of eight, a partly filled block, and more groups than a block has threads. */
const CHANNELS = [8, 24, 144, 2056];

function made(name: string, shape: number[], device: string, dtype: DType = "float32"): Tensor {
  const values = formulaTensor(name, shape, { dtype: "float32" });
  const memoryFormat = shape.length === 4 ? "channels_last" : "contiguous";
  return values.to({ device, dtype, memoryFormat });
}

/** Both results are computed in float64 from the operator's inputs, so that only its own rounding error remains. */
const wide = (x: Tensor): Tensor => x.detach().to({ dtype: "float64" });

for (const device of EVERYWHERE) {
  test.each(CHANNELS)(`${device}: bias_clamp and its gradients are the composition's (%i channels)`, (channels) => {
    for (const dtype of device === "cpu" ? (["float32"] as const) : (["float32", "bfloat16"] as const))
      for (const [low, high] of [
        [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
        [0, Number.POSITIVE_INFINITY],
        [0, 0.5],
      ])
        for (const around of [false, true])
          scope(() => {
            const shape = [3, channels, 5, 7];
            const y = made("y", shape, device, dtype).requiresGrad_();
            const bias = made("bias", [channels], device).requiresGrad_();
            const residual = around ? made("residual", shape, device, dtype).requiresGrad_() : null;
            const gradient = made("g", shape, device, dtype);
            const inputs = [y, bias, ...(residual ? [residual] : [])];
            const out = biasClamp(y, bias, residual, low, high);
            expect(out.dtype).toBe(dtype);
            const got = [out, ...grad(out, inputs, { gradient })];

            const sum = wide(y)
              .add(wide(bias).view(1, -1, 1, 1))
              .add(residual ? wide(residual) : 0);
            const inside = wide(out).gt(low).mul(wide(out).lt(high)).to({ dtype: "float64" });
            const ofY = wide(gradient).mul(inside);
            const expected = [sum.clamp(low, high), ofY, ofY.sumOver([0, 2, 3]), ...(residual ? [ofY] : [])];
            const rounding = dtype === "float32" ? 2e-6 : 2 ** -8;
            for (const [i, each] of got.entries())
              expectClose(wide(each), expected[i], {
                rtol: rounding,
                // A sum of 105 numbers. ATen accumulates it in bfloat16.
                atol: i === 2 ? 100 * rounding : rounding / 4,
                what: `${["out", "of y", "of bias", "of residual"][i]}, ${dtype}, [${low}, ${high}], around ${around}`,
              });
          });
  });

  // Both results are used, one of them, and with a gradient in another layout, as that of a mean over the map.
  test.each(["both", "first", "second", "mean"])(
    `${device}: bias_clamp_twice adds the gradients of its results (%s)`,
    (used) => {
      for (const dtype of device === "cpu" ? (["float64"] as const) : (["float64", "bfloat16"] as const))
        for (const high of [0.5, Number.POSITIVE_INFINITY])
          scope(() => {
            const shape = [3, 24, 5, 7];
            const [y, residual] = ["y", "residual"].map((name) => made(name, shape, device, dtype).requiresGrad_());
            const bias = made("bias", [24], device, dtype === "float64" ? dtype : "float32").requiresGrad_();
            const [g, h] = ["g", "h"].map((name) => made(name, shape, device, dtype));
            const low = high === 0.5 ? 0 : Number.NEGATIVE_INFINITY;
            const run = ([first, second]: readonly Tensor[]): Tensor[] => {
              const parts = [
                ...(used === "second" ? [] : [used === "mean" ? first.mean() : first.mul(g).sum()]),
                ...(used === "first" ? [] : [second.mul(h).sum()]),
              ];
              const value = parts.reduce((a, b) => a.add(b));
              return [first, second, ...grad(value, [y, bias, residual])];
            };
            const once = biasClamp(y, bias, residual, low, high);
            const [got, expected] = [run(biasClampTwice(y, bias, residual, low, high)), run([once, once])];
            for (const [i, each] of got.entries()) {
              if (dtype === "bfloat16" && i !== 3) expect(each.isChannelsLast).toBe(true);
              expectClose(wide(each), wide(expected[i]), {
                rtol: 1e-6,
                atol: i === 3 ? 1e-5 : 0,
                what: `${i}, ${dtype}, ${high}`,
              });
            }
          });
    },
  );

  test(`${device}: NaN stays NaN through a clamp`, () => {
    scope(() => {
      const dtype = device === "cpu" ? "float32" : "bfloat16";
      const y = made("y", [1, 8, 1, 1], device, dtype).fill_(Number.NaN);
      const out = biasClamp(y, made("bias", [8], device), null, 0, 6);
      expect(out.to({ dtype: "float32" }).toNumbers()).toEqual(new Array(8).fill(Number.NaN));
    });
  });

  test.each([false, true])(`${device}: fold_norm and its gradients are the composition's (bfloat16: %s)`, (half) => {
    for (const shape of [
      [24, 1, 3, 3],
      [40, 16, 1, 1],
      [5, 300, 3, 3],
    ])
      scope(() => {
        const names = ["gamma", "beta", "mean"];
        const weight = made("weight", shape, device).requiresGrad_();
        const [gamma, beta, mean] = names.map((name) => made(name, [shape[0]], device).requiresGrad_());
        const variance = made("variance", [shape[0]], device).square().add(0.5);
        const [folded, shift] = foldNorm(weight, gamma, beta, mean.detach(), variance, 1e-5, half);
        expect(folded.dtype).toBe(half ? "bfloat16" : "float32");
        const gradients = [made("g", shape, device, folded.dtype), made("h", [shape[0]], device)];
        const value = folded.mul(gradients[0]).to({ dtype: "float32" }).sum().add(shift.mul(gradients[1]).sum());
        const got = [folded, shift, ...grad(value, [weight, gamma, beta])];

        const one = wide(variance).add(1e-5).rsqrt();
        const scale = wide(gamma).mul(one);
        const [g, h] = gradients.map(wide);
        const ofScale = g
          .mul(wide(weight))
          .sumOver([1, 2, 3])
          .sub(h.mul(wide(mean)));
        const expected = [
          wide(weight).mul(scale.view(-1, 1, 1, 1)),
          wide(beta).sub(wide(mean).mul(scale)),
          g.mul(scale.view(-1, 1, 1, 1)),
          ofScale.mul(one),
          h,
        ];
        for (const [i, each] of got.entries())
          expectClose(wide(each), expected[i], {
            rtol: i === 0 && half ? 2 ** -8 : 1e-5,
            atol: 1e-5,
            what: `${["folded", "shift", "of weight", "of gamma", "of beta"][i]} of [${shape}]`,
          });
      });
  });

  test.each([false, true])(
    `${device}: all can be differentiated twice, as gradient penalties do (pair: %s)`,
    (twice) => {
      scope(() => {
        const weight = made("weight", [8, 2, 1, 1], device).requiresGrad_();
        const gamma = made("gamma", [8], device).requiresGrad_();
        const beta = made("beta", [8], device).requiresGrad_();
        const [mean, variance] = [made("mean", [8], device), made("variance", [8], device).square().add(0.5)];
        const penalty = (fused: boolean): Tensor[] => {
          let out: Tensor;
          if (fused) {
            const [folded, shift] = foldNorm(weight, gamma, beta, mean, variance, 1e-5, false);
            const [first, second] = biasClampTwice(folded.view(1, 8, 2, 1), shift, null, 0, 1);
            out = twice ? first.add(second).mul(0.5) : biasClamp(folded.view(1, 8, 2, 1), shift, null, 0, 1);
          } else {
            const scale = gamma.mul(variance.add(1e-5).rsqrt());
            const folded = weight.mul(scale.view(-1, 1, 1, 1)).view(1, 8, 2, 1);
            out = folded.add(beta.sub(mean.mul(scale)).view(1, -1, 1, 1)).clamp(0, 1);
          }
          const [inner] = grad(out.square().sum(), [gamma], { createGraph: true });
          return grad(inner.square().sum(), [weight, gamma, beta]);
        };
        const [got, expected] = [penalty(true), penalty(false)];
        for (const [i, each] of got.entries()) expectClose(each, expected[i], { rtol: 1e-4, atol: 1e-5 });
      });
    },
  );
}
