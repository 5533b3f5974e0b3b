import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { fillByFormula, formulaTensor } from "../../tests/support/formula-weights.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { mergedState } from "../nn/lora.js";
import { Adam } from "../optim/adam.js";
import { addLora, LORA_TARGETS, type LoraTarget } from "./add-lora.js";
import { backboneNamed, type TransformerLayout, VisionTransformer } from "./index.js";

const layout: TransformerLayout = {
  ...{ width: 8, depth: 3, heads: 2, patch: 4, side: 12, layerScale: true },
  variant: { eps: 1e-6, gelu: "exact", positions: "timm" },
};
const make = () => fillByFormula(new VisionTransformer("small", layout));
const x = () => formulaTensor("x", [2, 3, 12, 12]);

test.each([
  [["q", "v"], 3 * (2 * 2 * 8 + 2 * 8 * 2)],
  [["q", "k", "v"], 3 * (3 * 2 * 8 + 3 * 8 * 2)],
  [["proj"], 3 * (2 * 8 + 8 * 2)],
  [["fc1", "fc2"], 3 * (2 * 8 + 32 * 2 + 2 * 32 + 8 * 2)],
  [LORA_TARGETS, 3 * (96 + 32 + 160)],
] as [LoraTarget[], number][])(
  "LoRA on %j trains its matrices alone, and starts as the network was",
  (targets, count) => {
    scope(() => {
      using network = make();
      const before = noGrad(() => network.forward(x()));
      addLora(network, { rank: 2, alpha: 2, targets }, new Random(1));
      // libtorch 2 multiplies with frozen weights in another order: the last bit may differ.
      expectClose(
        noGrad(() => network.forward(x())),
        before,
        { rtol: 1e-6, atol: 1e-6 },
      );
      expect(network.parameters().reduce((sum, { numel }) => sum + numel, 0)).toBe(count);
      expect([...network.namedParameters()].every(([name, { frozen }]) => frozen !== /\.lora\.[ab]$/.test(name))).toBe(
        true,
      );
    });
  },
);

test("LoRA learns, the rest of the network stays as it was, and merged it is a plain network with the same features", () => {
  scope(() => {
    using network = addLora(make(), { rank: 2, alpha: 4, targets: LORA_TARGETS }, new Random(1));
    const weight = network.blocks.layers[0].stateDict().get("attn.qkv.weight")!;
    const was = weight.clone();
    using adam = new Adam(network.parameters(), { lr: 0.01 });
    const losses = Array.from({ length: 4 }, () =>
      scope(() => {
        const loss = network.forward(x()).square().mean();
        adam.zeroGrad();
        loss.backward();
        adam.step();
        return loss.item();
      }),
    );
    expect(losses[3]).toBeLessThan(losses[0]);
    expect(weight.equal(was)).toBe(true);
    using plain = new VisionTransformer("small", layout);
    plain.loadStateDict(mergedState(network));
    const expected = noGrad(() => network.forward(x()));
    expectClose(
      noGrad(() => plain.forward(x())),
      expected,
      { rtol: 1e-5, atol: 1e-5 * expected.abs().max().item() },
    );
  });
});

test("LoRA on a network that is not a transformer is an error", () => {
  using backbone = backboneNamed("toy-cnn").build();
  expect(() => addLora(backbone, { rank: 2, alpha: 2, targets: ["q"] }, new Random(1))).toThrow(
    "LoRA needs a vision transformer",
  );
});
