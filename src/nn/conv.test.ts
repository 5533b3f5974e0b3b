import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { conv2d, empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { grad } from "../engine/tensor.js";
import { productOf } from "./conv.js";

test("a 1 × 1 convolution as a matrix product has the convolution's values, gradients and layout", () => {
  scope(() => {
    const random = new Random(0);
    const x = random
      .for("x")
      .normal_(empty([2, 5, 3, 4], { dtype: "float64" }))
      .to({ memoryFormat: "channels_last" })
      .requiresGrad_();
    const kernel = random.for("kernel").normal_(empty([6, 5, 1, 1], { dtype: "float64" }));
    const cotangent = random.for("cotangent").normal_(empty([2, 6, 3, 4], { dtype: "float64" }));
    for (const weight of [kernel, kernel.to({ memoryFormat: "channels_last" })]) {
      weight.requiresGrad_();
      const [got, expected] = [productOf(x, weight), conv2d(x, weight, null, 1, 0, 1, 1)];
      expect(got.isChannelsLast).toBe(true);
      expectClose(got, expected, { rtol: 1e-12, atol: 1e-12 });
      const [ofGot, ofExpected] = [got, expected].map((y) => grad(y.mul(cotangent).sum(), [x, weight]));
      for (const i of [0, 1]) expectClose(ofGot[i], ofExpected[i], { rtol: 1e-12, atol: 1e-12 });
    }
  });
});
