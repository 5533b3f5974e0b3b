import { expect, test } from "vitest";
import type { DType } from "../engine/dtype.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { ReLU, ReLU6 } from "./activation.js";

const DTYPES: readonly DType[] = ["float32", "float64", "bfloat16"];

for (const dtype of DTYPES) {
  test.each([true, false])(
    `ReLU and ReLU6 cut in ${dtype}, and pass gradients where they do not (in place: %s)`,
    (inPlace) => {
      scope(() => {
        const run = (layer: ReLU | ReLU6) => {
          const x = tensor([-2, -0.5, 0, 0.5, 5, 7]).toDType(dtype).requiresGrad_();
          const input = x.mul(1); // a leaf that needs a gradient cannot be written to
          const y = layer.forward(input);
          y.backward({ gradient: tensor([1, 2, 3, 4, 5, 6]).toDType(dtype) });
          const untouched = input.toNumbers()[0] === -2;
          return { y: y.toNumbers(), gradient: x.grad!.toNumbers(), untouched };
        };
        const untouched = !inPlace;
        expect(run(new ReLU({ inPlace }))).toEqual({
          y: [0, 0, 0, 0.5, 5, 7],
          gradient: [0, 0, 0, 4, 5, 6],
          untouched,
        });
        expect(run(new ReLU6({ inPlace }))).toEqual({
          y: [0, 0, 0, 0.5, 5, 6],
          gradient: [0, 0, 0, 4, 5, 0],
          untouched,
        });
      });
    },
  );
}
