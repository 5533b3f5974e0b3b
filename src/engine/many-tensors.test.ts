import { expect, test } from "vitest";
import { defaultDevice, devices } from "./device.js";
import { cloneAll, copyAll, zeroAll, zerosLikeAll } from "./many-tensors.js";
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
