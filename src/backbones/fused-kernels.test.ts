/**
 * The layers with the operators of ../nn/fused-kernels.ts, on the CPU: features and gradients in bf16 are as near to
 * those in float32 as without these operators.
 */
import { afterEach, expect, test, vi } from "vitest";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { Random, withRandom } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { type Precision, withPrecision } from "../nn/precision.js";
import { backboneNamed } from "./index.js";

const state = vi.hoisted(() => ({ open: false, asked: 0, kernels: false, together: 0 }));
vi.mock("../nn/fused-kernels.js", () => ({
  usesFusedKernels: () => {
    state.asked++;
    return state.open;
  },
}));

// In bf16 the layers use the operators of a GPU with kernels, which are ATen's on the CPU.
vi.mock("../engine/device.js", async (original) => {
  const device = await original<typeof import("../engine/device.js")>();
  return {
    ...device,
    fusedKernelsProblem: (name: string) => (state.kernels ? "" : device.fusedKernelsProblem(name)),
  };
});

vi.mock("../engine/ops.generated.js", async (original) => {
  const ops = await original<typeof import("../engine/ops.generated.js")>();
  const foldNorms: typeof ops.foldNorms = (...given) => {
    state.together++;
    return ops.foldNorms(...given);
  };
  return { ...ops, foldNorms };
});

afterEach(() => {
  state.open = false;
  state.kernels = false;
});

test.each([
  ["vit_s_16", {}],
  ["dinov2_vits14_reg", { inputShape: [3, 56, 56] }],
  ["convnext_tiny", { stochasticDepth: 0.3 }],
  ["efficientnet_b0", { stochasticDepth: 0.3 }],
  ["regnet_y_400mf", {}],
  ["resnet50", {}],
])("%s computes the same with the fused operators", (id, options) => {
  scope(() => {
    using backbone = fillByFormula(
      backboneNamed(id).build({ inputShape: [3, 64, 64], batchNorm: "frozen", ...options }),
    ).train();
    const x = formulaTensor("pictures", [4, ...backbone.inputShape], { dtype: "float32" });
    const run = (open: boolean, precision: Precision): [what: string, value: Tensor][] => {
      state.open = open;
      state.kernels = precision === "bf16";
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
    state.together = 0;
    const [full, before, first] = [run(false, "float32"), run(false, "bf16"), run(true, "bf16")];
    const after = run(true, "bf16"); // the second pass folds all batch norms together
    for (const [i, [name, value]] of after.entries()) expect(value.sub(first[i][1]).abs().max().item(), name).toBe(0);
    expect(state.together).toBe(/^(efficientnet|regnet|resnet)/.test(id) ? 1 : 0);
    expect(state.asked).toBeGreaterThan(id === "resnet50" ? 4 : 10); // ResNet has one such layer, and asks before a pass
    const errors = (got: typeof full): number[] =>
      got.map(([, value], i) => value.sub(full[i][1]).norm().item() / (full[i][1].norm().item() || 1));
    const [usual, now] = [errors(before), errors(after)];
    expect(now.length).toBeGreaterThan(100);
    for (const [i, error] of now.entries()) expect(error, full[i][0]).toBeLessThan(2 * usual[i] + 0.02);
  });
});
