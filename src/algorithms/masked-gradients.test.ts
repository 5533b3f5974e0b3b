import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { signMask } from "./and-mask.js";
import { maskedMean, maskedTogether } from "./masked-gradients.js";
import { softMask } from "./sand-mask.js";

const drawn = (name: string, shape: readonly number[]): Tensor =>
  new Random(0, [name]).normal_(empty(shape, { dtype: "float64" }));

test.each([
  ["AND-mask", signMask(1)],
  ["SAND-mask", softMask({ tau: 0.2, k: 10 })],
])("%s of all parameters together, as on a GPU, is that of each, in the layout of the parameter", (_, maskOf) => {
  scope(() => {
    const shapes = [[4, 3, 3, 3], [5], [], [6, 2, 1, 1], [3, 7]];
    const parameters = shapes.map((shape, i) => {
      const made = drawn(`p ${i}`, shape);
      return shape.length === 4 ? made.to({ memoryFormat: "channels_last" }) : made;
    });
    // The gradients of the second domain lie in memory in another order.
    const byDomain = [0, 1, 2].map((domain) =>
      parameters.map((parameter, i) => {
        const made = drawn(`g ${domain} ${i}`, parameter.shape);
        return domain === 1 || made.shape.length < 4 ? made : made.to({ memoryFormat: "channels_last" });
      }),
    );
    const together = maskedTogether(parameters, byDomain, maskOf);
    for (const [i, got] of together.entries()) {
      const gradients = byDomain.map((own) => own[i]);
      expectClose(got, maskedMean(gradients, maskOf), { rtol: 1e-12, atol: 1e-14 });
      expect(got.strides).toEqual(parameters[i].strides);
    }
  });
});
