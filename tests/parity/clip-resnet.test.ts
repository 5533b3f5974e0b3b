/**
 * The ResNet image tower of CLIP against a computation from its paper (tests/vectors/clip_resnet.py): OpenAI's archive, four
 * picture sizes, gradients and five updates with fixed and with trained batch norm.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import {
  type BackboneOptions,
  backboneNamed,
  ClipResNet,
  type ClipResNetLayout,
  loadPretrained,
} from "../../src/backbones/index.js";
import { weightsFacts } from "../../src/backbones/weights-facts.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights, writeWeights } from "../../src/engine/weights.js";
import { Linear } from "../../src/nn/linear.js";
import { crossEntropy } from "../../src/nn/loss.js";
import { withPrecision } from "../../src/nn/precision.js";
import { withSecondDerivatives } from "../../src/nn/second-derivatives.js";
import { expectClose } from "../support/close.js";
import { fillByFormula, formulaTensor } from "../support/formula-weights.js";

const VECTORS = fileURLToPath(new URL("../vectors/clip-resnet.safetensors", import.meta.url));
const FILE = fileURLToPath(new URL("../vectors/clip-resnet-openai.pt", import.meta.url));
const [CLASSES, RATE, UPDATES, SHOWN, SIDE] = [5, 0.001, 5, 6, 64];
const LAYOUT: ClipResNetLayout = { width: 4, blocks: [2, 1, 1, 1], heads: 4, features: 6 };

type Precision = "float64" | "float32";

const picture = (size: number, dtype: Precision = "float64"): Tensor =>
  formulaTensor(`x${size}`, [3, 3, size, size], { scale: 2, dtype });

const loaded = (
  size = SIDE,
  { dtype = "float64" as Precision, ...options }: BackboneOptions & { dtype?: Precision } = {},
) => loadPretrained(new ClipResNet("small", LAYOUT, { inputShape: [3, size, size], ...options }).to({ dtype }), FILE);

const stored = (key: string): Tensor => readWeights(VECTORS).get(key)!;

function metadata<T>(key: string): T {
  using file = openWeights(VECTORS);
  return JSON.parse(file.metadata[key]) as T;
}

/** To a tolerance relative to the largest number that is expected. */
function expectNear(actual: Tensor, expected: Tensor, tolerance: number, what: string): void {
  const largest = expected.abs().max().item();
  expect(largest).toBeGreaterThan(0.1);
  expectClose(actual, expected, { rtol: 0, atol: tolerance * largest, what });
}

test("features of OpenAI's archive equal the reference", () => {
  scope(() => {
    const expected = stored(`features${SIDE}`);
    using network = loaded();
    expectNear(network.forward(picture(SIDE)), expected, 1e-9, "folded");
    const composed = withSecondDerivatives(() => network.forward(picture(SIDE)));
    expectNear(composed, expected, 1e-9, "composed attention");
    using unfolded = loaded(SIDE, { foldBatchNorm: false });
    expectNear(unfolded.forward(picture(SIDE)), expected, 1e-9, "not folded");
    using single = loaded(SIDE, { dtype: "float32" });
    expectNear(single.forward(picture(SIDE, "float32")), expected, 5e-6, "float32");
    const half = withPrecision("bf16", () => single.forward(picture(SIDE, "float32")));
    expect(half.dtype).toBe("float32");
    expectNear(half, expected, 0.04, "bf16");
  });
});

// 70 pixels become 35, 17, 8, 4 and 2: pooling drops an odd last row and column, and the positions stay as they are.
test.each([96, 32, 70])("pictures of %d pixels", (size) => {
  scope(() => {
    const expected = stored(`features${size}`);
    using atLoad = loaded(size);
    // Files are float32, and so are positions that are resized at load.
    expectNear(atLoad.forward(picture(size)), expected, 2e-6, "resized at load");
    using inPass = loaded();
    expectNear(inPass.forward(picture(size)), expected, size === 70 ? 1e-9 : 2e-6, "resized in the pass");
  });
});

test.each(["frozen", "trained"] as const)("gradients and five updates with %s batch norm in float64", (batchNorm) => {
  scope(() => {
    using network = loaded(SIDE, { batchNorm }).train();
    using head = fillByFormula(new Linear(network.width, CLASSES).to({ dtype: "float64" }), "head.");
    const names = metadata<Record<"parameters" | "buffers", string[]>>("names");
    const parameters = new Map(network.namedParameters());
    expect([...parameters.keys()]).toEqual(names.parameters);
    const losses: number[] = [];
    for (let update = 0; update < UPDATES; update++) {
      scope(() => {
        network.zeroGrad();
        head.zeroGrad();
        const features = network.forward(picture(SIDE));
        if (update === 0) expectNear(features, stored(`${batchNorm}/features`), 1e-9, "features");
        const loss = crossEntropy(head.forward(features), tensor([0, 1, 2], { dtype: "int64" }));
        loss.backward();
        losses.push(loss.item());
        if (update === 0)
          expectRows(
            names.parameters.map((name) => parameters.get(name)!.grad!),
            `${batchNorm}/gradients`,
          );
        noGrad(() => {
          for (const parameter of [...network.parameters(), ...head.parameters()])
            parameter.sub_(parameter.grad!, { alpha: RATE });
        });
      });
    }
    expectRows(
      names.parameters.map((name) => parameters.get(name)!),
      `${batchNorm}/parameters`,
    );
    const state = network.stateDict();
    expectRows(
      names.buffers.map((name) => state.get(name)!.toDType("float64")),
      `${batchNorm}/buffers`,
    );
    expectClose(losses, stored(`${batchNorm}/losses`), { rtol: 1e-9, what: "losses" });
    expect(Math.abs(losses[0] - losses[UPDATES - 1])).toBeGreaterThan(1e-3);
  });
});

test("channels-last gives the same features and gradients", () => {
  scope(() => {
    using network = loaded().to({ memoryFormat: "channels_last" });
    using head = fillByFormula(new Linear(network.width, CLASSES).to({ dtype: "float64" }), "head.");
    const features = network.forward(picture(SIDE).to({ memoryFormat: "channels_last" }));
    expectNear(features, stored("frozen/features"), 1e-9, "features");
    crossEntropy(head.forward(features), tensor([0, 1, 2], { dtype: "int64" })).backward();
    expectRows(
      network.parameters().map(({ grad }) => grad!.contiguous()),
      "frozen/gradients",
    );
  });
});

/** A row for each tensor: mean of the absolute values, mean, and the first elements. */
function expectRows(tensors: readonly Tensor[], key: string): void {
  const expected = stored(key).toArray() as number[][];
  expect(tensors.length).toBe(expected.length);
  const largest = Math.max(...expected.map(([size]) => size));
  for (const [i, each] of tensors.entries()) {
    const flat = each.detach().reshape(-1);
    const first = flat.narrow(0, 0, Math.min(SHOWN, flat.numel)).toNumbers();
    const row = [flat.abs().mean().item(), flat.mean().item(), ...first];
    expectClose(row, expected[i].slice(0, row.length), { rtol: 1e-9, atol: 1e-9 * largest, what: `${i} of ${key}` });
  }
}

test("clip_rn50 has OpenAI's names and shapes, and its file is recognized", () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-clip-resnet-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "RN50.safetensors");
  scope(() => {
    using network = fillByFormula(backboneNamed("clip_rn50").build());
    const state = network.stateDict();
    const shapes = Object.fromEntries(Array.from(state, ([name, { shape }]) => [name, shape]));
    expect(shapes).toEqual(metadata("clip_rn50"));
    const count = network.parameters().reduce((sum, { numel }) => sum + numel, 0);
    expect(backboneNamed("clip_rn50").parameters).toBe(count);
    writeWeights(path, new Map(Array.from(state, ([name, value]) => [`visual.${name}`, value])));
    using copy = loadPretrained(backboneNamed("clip_rn50").build(), path);
    for (const [name, value] of copy.stateDict())
      expect({ name, same: value.equal(state.get(name)!) }).toEqual({ name, same: true });
  });
  expect(weightsFacts(path)).toMatchObject({
    backbone: "clip_rn50",
    normalization: "clip",
    framing: { size: 224, resize: 224, interpolation: "bicubic" },
    variant: { positions: "timm" },
  });
  expect(weightsFacts(path).geluIsOpen).toBeUndefined();
});

test("files of other networks are refused, and small pictures too", () => {
  const { backbone, description } = weightsFacts(FILE);
  expect(backbone).toBeUndefined();
  expect(description).toBe("a CLIP ResNet of 6 features and 5 blocks, under OpenAI's CLIP names");
  scope(() => {
    using network = fillByFormula(new ClipResNet("small", { ...LAYOUT, features: 7 }, { inputShape: [3, 64, 64] }));
    expect(() => loadPretrained(network, FILE)).toThrow(
      /wrong shape of attnpool\.c_proj\.weight: expected \[7, 128\], got \[6, 128\]/,
    );
    expect(() => network.forward(formulaTensor("x", [1, 3, 30, 64]))).toThrow(
      "backbone small: pictures of 30×64 pixels are too small; take at least 32×32",
    );
  });
});
