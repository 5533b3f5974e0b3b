/**
 * Compares nudge::depthwise (native/src/depthwise.cc) with ATen's convolution on every device, in channels-last layout.
 */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { devices } from "../engine/device.js";
import { biasClamp, conv2d, depthwise, depthwiseClamp } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";

const EVERYWHERE = devices().filter((device) => device === "cpu" || device === "cuda:0");

/**
 * Batch size, channels, height and width. They cover one and several strips, partly filled strips, a single position,
 * and more groups than one block handles.
 */
const MAPS = [
  [2, 8, 7, 7],
  [1, 40, 9, 5],
  [3, 24, 14, 15],
  [2, 16, 1, 1],
  [5, 264, 6, 9],
];

const made = (name: string, shape: number[], device: string): Tensor =>
  formulaTensor(name, shape, { dtype: "float32" }).to({
    device,
    dtype: device === "cpu" ? "float32" : "bfloat16",
    memoryFormat: "channels_last",
  });
const wide = (x: Tensor): Tensor => x.detach().to({ dtype: "float64" });

for (const device of EVERYWHERE) {
  test.each([1, 2])(`${device}: a map, its gradient and the weight's are the convolution's (stride %i)`, (stride) => {
    for (const shape of MAPS)
      scope(() => {
        const channels = shape[1];
        const x = made("x", shape, device).requiresGrad_();
        const weight = made("weight", [channels, 1, 3, 3], device).requiresGrad_();
        const y = depthwise(x, weight, stride);
        const gradient = made("g", [...y.shape], device);
        const got = [y, ...grad(y, [x, weight], { gradient })];

        const [x64, weight64] = [wide(x).requiresGrad_(), wide(weight).requiresGrad_()];
        const y64 = conv2d(x64, weight64, null, stride, 1, 1, channels);
        const expected = [y64, ...grad(y64, [x64, weight64], { gradient: wide(gradient) })];
        for (const [i, each] of got.entries()) {
          expect(each.dtype).toBe(x.dtype);
          expectClose(wide(each), expected[i], {
            rtol: x.dtype === "float32" ? 1e-5 : 2 ** -8,
            atol: 1e-5,
            what: `${["y", "of x", "of the weight"][i]}, [${shape}]`,
          });
        }
        expect(scope(() => grad(depthwise(x, weight, stride), [weight], { gradient })[0].toNumbers())).toEqual(
          got[2].toNumbers(), // bitwise the same again
        );
      });
  });

  test(`${device}: it can be differentiated twice, as gradient penalties do`, () => {
    scope(() => {
      const [shape, kernel] = [
        [2, 8, 5, 6],
        [8, 1, 3, 3],
      ];
      const penalty = (fused: boolean): Tensor => {
        const x = made("x", shape, device).requiresGrad_();
        const weight = made("weight", kernel, device).requiresGrad_();
        const y = fused ? depthwise(x, weight, 2) : conv2d(x, weight, null, 2, 1, 1, 8);
        const [inner] = grad(y.square().sum(), [x], { createGraph: true });
        return grad(inner.square().sum(), [weight])[0];
      };
      const rounding = device === "cpu" ? 1e-5 : 2 ** -6;
      expectClose(wide(penalty(true)), wide(penalty(false)), { rtol: rounding, atol: rounding });
    });
  });
}

for (const device of EVERYWHERE) {
  test.each([1, 2])(
    `${device}: with bias and clamp in one operator, the numbers are those of two (stride %i)`,
    (stride) => {
      for (const shape of MAPS)
        scope(() => {
          const x = made("x", shape, device).requiresGrad_();
          const weight = made("weight", [shape[1], 1, 3, 3], device).requiresGrad_();
          const bias = formulaTensor("bias", [shape[1]], { dtype: "float32" }).to({ device }).requiresGrad_();
          const [one, two] = [
            depthwiseClamp(x, weight, bias, stride, 0, 0.5),
            biasClamp(depthwise(x, weight, stride), bias, null, 0, 0.5),
          ];
          const gradient = made("g", [...one.shape], device);
          const [got, expected] = [one, two].map((out) => [out, ...grad(out, [x, weight, bias], { gradient })]);
          for (const i of [0, 1, 2]) expect(got[i].toNumbers()).toEqual(expected[i].toNumbers());
          expectClose(wide(got[3]), wide(expected[3]), { rtol: 1e-5, atol: 1e-5 }); // summed in another order
        });
    },
  );
}

test("weights of another shape are refused", () => {
  scope(() => {
    expect(() => depthwise(made("x", [1, 8, 4, 4], "cpu"), made("weight", [8, 2, 3, 3], "cpu"), 1)).toThrow(
      /expected a map \[n, c, h, w\] and weights \[c, 1, 3, 3\]/,
    );
  });
});
