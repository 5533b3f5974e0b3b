import { expect, test } from "vitest";
import { defaultDevice, devices } from "./device.js";
import { cloneAll, copyAll, lerpAll, zeroAll, zerosLikeAll } from "./many-tensors.js";
import { scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** Of several dtypes and layouts. */
const some = (device: string): Tensor[] => [
  tensor([1, 2, 3], { device }),
  tensor([4, 5], { dtype: "int64", device }),
  tensor(
    new Float32Array(24).map((_, i) => i),
    { shape: [1, 2, 3, 4], device },
  ).to({ memoryFormat: "channels_last" }),
  tensor([-0, Number.NaN, 7], { device }).requiresGrad_(),
];

test.each(devices().length > 1 ? ["cpu", defaultDevice()] : ["cpu"])(
  "many tensors are copied, cloned and filled with zeros on %s, whatever their dtypes and layouts",
  (device) => {
    scope(() => {
      const all = some(device);
      const copies = cloneAll(all);
      expect(copies.map((each) => each.toNumbers())).toEqual(all.map((each) => each.toNumbers()));
      expect(copies.map((each) => each.hasSameLayoutAs(all[copies.indexOf(each)]))).toEqual(all.map(() => true));
      expect(copies.map(({ requiresGrad }) => requiresGrad)).toEqual(all.map(() => false));
      zeroAll(all);
      for (const each of [...all, ...zerosLikeAll(copies)])
        expect(each.toNumbers()).toEqual(each.toNumbers().map(() => 0));
      copyAll(all, copies);
      expect(all.map((each) => each.toNumbers())).toEqual(copies.map((each) => each.toNumbers()));
      expect(all.map((each) => each.dtype)).toEqual(some(device).map((each) => each.dtype));
      copyAll([], []);
    });
  },
);

test.each(devices().length > 1 ? ["cpu", defaultDevice()] : ["cpu"])(
  "many tensors are interpolated on %s by a number or by a scalar on the device",
  (device) => {
    scope(() => {
      const of = (values: number[]): Tensor[] => [
        tensor(values, { device, dtype: "float64" }),
        tensor(values, { device }),
        tensor(new Float32Array(24).fill(values[0]), { shape: [1, 2, 3, 4], device }).to({
          memoryFormat: "channels_last",
        }),
      ];
      for (const weight of [0.25, tensor(0.25, { device, dtype: "float64" })]) {
        const targets = of([1, -2]);
        targets[0].requiresGrad_();
        lerpAll(targets, of([5, 2]), weight);
        expect(targets.map((each) => each.toNumbers())).toEqual([[2, -1], [2, -1], Array(24).fill(2)]);
      }
      lerpAll([], [], 0.5);
    });
  },
);
