/** States of LoRA that a stranger made, as a checkpoint has them: another rank, other kinds of numbers, too few or too many tensors. */

import { expect, test } from "vitest";
import { erm } from "../../src/algorithms/erm.js";
import { addLora } from "../../src/backbones/add-lora.js";
import { type TransformerLayout, VisionTransformer } from "../../src/backbones/index.js";
import { liveTensors } from "../../src/engine/device.js";
import { zeros } from "../../src/engine/ops.generated.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import type { Tensor } from "../../src/engine/tensor.js";
import { Learner } from "../../src/training/learner.js";

const layout: TransformerLayout = {
  ...{ width: 8, depth: 2, heads: 2, patch: 4, side: 12, registers: 0, layerScale: false },
  variant: { eps: 1e-6, gelu: "exact", positions: "timm" },
};

function withLora(rank: number): VisionTransformer {
  const backbone = new VisionTransformer("small", layout, { inputShape: [3, 12, 12], stochasticDepth: 0 });
  try {
    backbone.initialize(new Random(1));
    return addLora(backbone, { rank, alpha: rank, targets: ["q", "v"] }, new Random(1));
  } catch (error) {
    backbone.dispose();
    throw error;
  }
}

const makeLearner = (rank = 2): Learner =>
  new Learner({
    ...{ algorithm: erm, makeBackbone: () => withLora(rank), classes: 3, domains: 2, regularizers: [] },
    hparams: { lr: 1e-3, batchSize: 2 },
  });

const isLora = (name: string): boolean => name.includes("lora");

const ATTACKS: [what: string, attack: (state: Map<string, Tensor>) => void][] = [
  ["another rank", (state) => edit(state, ({ shape }) => zeros(shape.map((size) => (size === 2 ? 3 : size))))],
  ["no dimensions", (state) => edit(state, () => zeros([]))],
  ["complex numbers", (state) => edit(state, ({ shape }) => zeros(shape, { dtype: "complex64" }))],
  ["too few tensors", (state) => void state.delete([...state.keys()].find(isLora)!)],
  ["too many tensors", (state) => void state.set("model/backbone.blocks.9.attn.qkv.lora.a", zeros([2, 8]))],
];

function edit(state: Map<string, Tensor>, change: (tensor: Tensor) => Tensor): void {
  for (const [name, tensor] of state) if (isLora(name)) state.set(name, change(tensor));
}

test.each(ATTACKS)("a state of LoRA with %s is refused, and the learner is as it was", (_, attack) => {
  const before = liveTensors();
  scope(() => {
    using learner = makeLearner();
    const { tensors, numbers } = learner.state();
    expect([...tensors.keys()].some(isLora)).toBe(true);
    const bytes = (): string[] =>
      Array.from(learner.state().tensors.values(), (each) => Buffer.from(each.bytes()).toString("base64"));
    const was = bytes();
    const hostile = new Map(tensors);
    attack(hostile);
    expect(() => learner.loadState({ tensors: hostile, numbers })).toThrow(
      /lora|wrong shape|missing|unexpected|expected/,
    );
    expect(bytes()).toEqual(was);
  });
  expect(liveTensors()).toBe(before);
});

test.each([0, -1, 0.5, Number.NaN, 2 ** 53, 2 ** 40])("a rank of %s is an error, not a crash", (rank) => {
  const before = liveTensors();
  scope(() => expect(() => withLora(rank)).toThrow(/rank|memory|size|overflow/i));
  expect(liveTensors()).toBe(before);
});
