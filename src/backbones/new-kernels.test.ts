/**
 * The layers with the operators of `NUDGE_NEW_KERNELS=1`, on the CPU: features and gradients in bf16 are as near to
 * those in float32 as without these operators.
 */
import { afterEach, expect, test, vi } from "vitest";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { Random, withRandom } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { type Precision, withPrecision } from "../nn/precision.js";
import { backboneNamed } from "./index.js";

const state = vi.hoisted(() => ({ open: false, asked: 0 }));
vi.mock("../nn/new-kernels.js", () => ({
  usesNewKernels: () => {
    state.asked++;
    return state.open;
  },
}));

afterEach(() => {
  state.open = false;
});

test.each([
  ["vit_s_16", {}],
  ["dinov2_vits14_reg", { inputShape: [3, 56, 56] }],
  ["convnext_tiny", { stochasticDepth: 0.3 }],
  ["efficientnet_b0", { stochasticDepth: 0.3 }],
  ["regnet_y_400mf", {}],
  ["resnet50", {}],
])("%s computes the same with the new operators", (id, options) => {
  scope(() => {
    using backbone = fillByFormula(
      backboneNamed(id).build({ inputShape: [3, 64, 64], batchNorm: "frozen", ...options }),
    ).train();
    const x = formulaTensor("pictures", [4, ...backbone.inputShape], { dtype: "float32" });
    const run = (open: boolean, precision: Precision): [what: string, value: Tensor][] => {
      state.open = open;
      backbone.zeroGrad();
      return withRandom(new Random(3), () => {
        const features = withPrecision(precision, () => backbone.forward(x));
        features.square().mean().backward();
        return [
          ["features", features],
          ...[...backbone.namedParameters()].map(([name, p]): [string, Tensor] => [name, p.grad!.clone()]),
        ];
      });
    };
    state.asked = 0;
    const [full, before, after] = [run(false, "float32"), run(false, "bf16"), run(true, "bf16")];
    expect(state.asked).toBeGreaterThan(id === "resnet50" ? 2 : 10); // ResNet has one such layer
    const errors = (got: typeof full): number[] =>
      got.map(([, value], i) => value.sub(full[i][1]).norm().item() / (full[i][1].norm().item() || 1));
    const [usual, now] = [errors(before), errors(after)];
    expect(now.length).toBeGreaterThan(100);
    for (const [i, error] of now.entries()) expect(error, full[i][0]).toBeLessThan(2 * usual[i] + 0.02);
  });
});
