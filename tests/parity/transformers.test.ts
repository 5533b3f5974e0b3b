/**
 * Vision transformers against torchvision's ViT, and DINOv2 and CLIP against computations from their papers
 * (tests/vectors/transformers.py): files under every published naming, three picture sizes, gradients and five updates.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { loadPretrained, type TransformerLayout, VisionTransformer } from "../../src/backbones/index.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { scope } from "../../src/engine/scope.js";
import { grad, noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { DataError } from "../../src/errors.js";
import { Linear } from "../../src/nn/linear.js";
import { crossEntropy } from "../../src/nn/loss.js";
import { withPrecision } from "../../src/nn/precision.js";
import { withSecondDerivatives } from "../../src/nn/second-derivatives.js";
import { expectClose } from "../support/close.js";
import { fillByFormula, formulaTensor } from "../support/formula-weights.js";

const VECTORS = fileURLToPath(new URL("../vectors/transformers.safetensors", import.meta.url));
const FILES = fileURLToPath(new URL("../vectors/transformers/", import.meta.url));
const [CLASSES, RATE, UPDATES, SHOWN, SIDE] = [5, 0.05, 5, 6, 12];

const sizes = { width: 8, depth: 4, heads: 2, patch: 4, side: SIDE } as const;
const exact = { eps: 1e-6, gelu: "exact" } as const;
const LAYOUTS: Record<string, TransformerLayout> = {
  vit: { ...sizes, variant: { ...exact, positions: "torchvision" } },
  dinov2: { ...sizes, layerScale: true, variant: { ...exact, positions: "dinov2" } },
  "dinov2-registers": { ...sizes, layerScale: true, registers: 4, variant: { ...exact, positions: "timm" } },
  clip: { ...sizes, projection: 6, variant: { eps: 1e-5, gelu: "quick", positions: "timm" } },
};

/** The file under the publisher's own names, and the same network under others'. */
const NAMINGS: Record<string, readonly string[]> = {
  vit: ["vit-torchvision.pth", "vit-timm.safetensors", "vit-hugging-face.safetensors"],
  dinov2: ["dinov2-meta.pth", "dinov2-hugging-face.safetensors"],
  "dinov2-registers": [
    "dinov2-registers-meta.pth",
    "dinov2-registers-hugging-face.safetensors",
    "dinov2-registers-timm.safetensors",
  ],
  clip: ["clip-openai.pt", "clip-open-clip.pth", "clip-hugging-face.safetensors", "clip-timm.safetensors"],
};

const picture = (size: number, dtype: "float64" | "float32" = "float64"): Tensor =>
  formulaTensor(`x${size}`, [3, 3, size, size], { scale: 2, dtype });

const built = (name: string, size = SIDE, dtype: "float64" | "float32" = "float64"): VisionTransformer =>
  new VisionTransformer(name, LAYOUTS[name], { inputShape: [3, size, size] }).to({ dtype });

const loaded = (name: string, file = NAMINGS[name][0], size = SIDE, dtype: "float64" | "float32" = "float64") =>
  loadPretrained(built(name, size, dtype), FILES + file);

const stored = (key: string): Tensor => readWeights(VECTORS).get(key)!;

/** To a tolerance relative to the largest number that is expected. */
function expectNear(actual: Tensor, expected: Tensor, tolerance: number, what: string): void {
  const largest = expected.abs().max().item();
  expect(largest).toBeGreaterThan(0.1);
  expectClose(actual, expected, { rtol: 0, atol: tolerance * largest, what });
}

for (const [name, files] of Object.entries(NAMINGS)) {
  for (const file of files) {
    test(`${file}: features equal the reference`, () => {
      scope(() => {
        using network = loaded(name, file);
        // timm's conversion has added the class token's position to it, in float32.
        const tolerance = file === "dinov2-registers-timm.safetensors" ? 1e-6 : 1e-9;
        expectNear(network.forward(picture(SIDE)), stored(`${name}/features${SIDE}`), tolerance, "float64");
        using single = loaded(name, file, SIDE, "float32");
        expectNear(single.forward(picture(SIDE, "float32")), stored(`${name}/features${SIDE}`), 5e-6, "float32");
      });
    });
  }

  test.each([20, 8])(`${name}: positions are resized like the publisher's for pictures of %d pixels`, (size) => {
    scope(() => {
      const expected = stored(`${name}/features${size}`);
      // At load for the network's own size, and in the pass for another one.
      using atLoad = loaded(name, NAMINGS[name][0], size);
      // Files are float32, and so are positions that are resized at load.
      expectNear(atLoad.forward(picture(size)), expected, 2e-6, "resized at load");
      using inPass = loaded(name);
      expectNear(inPass.forward(picture(size)), expected, 2e-6, "resized in the pass");
    });
  });

  test(`${name}: gradients and five updates equal PyTorch's in float64`, () => {
    scope(() => {
      using network = loaded(name);
      using head = fillByFormula(new Linear(network.width, CLASSES).to({ dtype: "float64" }), "head.");
      using file = openWeights(VECTORS);
      const names = (JSON.parse(file.metadata.names) as Record<string, string[]>)[name];
      const parameters = new Map(network.namedParameters());
      expect([...parameters.keys()].sort()).toEqual([...names].sort());
      const losses: number[] = [];
      for (let update = 0; update < UPDATES; update++) {
        scope(() => {
          network.zeroGrad();
          head.zeroGrad();
          const y = tensor([0, 1, 2], { dtype: "int64" });
          const loss = crossEntropy(head.forward(network.forward(picture(SIDE))), y);
          loss.backward();
          losses.push(loss.item());
          if (update === 0)
            expectRows(
              "gradient",
              names.map((key) => parameters.get(key)!.grad!),
              `${name}/gradients`,
            );
          noGrad(() => {
            for (const parameter of [...network.parameters(), ...head.parameters()])
              parameter.sub_(parameter.grad!, { alpha: RATE });
          });
        });
      }
      expectRows(
        "parameter",
        names.map((key) => parameters.get(key)!),
        `${name}/parameters`,
      );
      expectClose(losses, stored(`${name}/losses`), { rtol: 1e-9, what: "losses" });
      expect(Math.abs(losses[0] - losses[UPDATES - 1])).toBeGreaterThan(1e-3);
    });
  });

  test(`${name}: bf16 is close to float32`, () => {
    scope(() => {
      using network = loaded(name, NAMINGS[name][0], SIDE, "float32");
      const expected = network.forward(picture(SIDE, "float32"));
      const half = withPrecision("bf16", () => network.forward(picture(SIDE, "float32")));
      expect(half.dtype).toBe("float32");
      expectNear(half, expected, 0.04, "bf16");
    });
  });
}

/** A row for each tensor: mean of the absolute values, mean, and the first elements. */
function expectRows(what: string, tensors: readonly Tensor[], key: string): void {
  const expected = stored(key).toArray() as number[][];
  const largest = Math.max(...expected.map(([size]) => size));
  for (const [i, each] of tensors.entries()) {
    const flat = each.detach().reshape(-1);
    const first = flat.narrow(0, 0, Math.min(SHOWN, flat.numel)).toNumbers();
    const row = [flat.abs().mean().item(), flat.mean().item(), ...first];
    expectClose(row, expected[i].slice(0, row.length), {
      rtol: 1e-9,
      atol: 1e-9 * largest,
      what: `${what} ${i} of ${key}`,
    });
  }
}

test("composed attention can be differentiated twice", () => {
  scope(() => {
    using network = loaded("vit");
    const parameters = [network.blocks.layers[0], network.norm].flatMap((layer) => layer.parameters());
    const penalty = (): Tensor => {
      const features = withSecondDerivatives(() => network.forward(picture(SIDE)));
      const gradients = grad(features.square().sum(), parameters, { createGraph: true });
      return gradients.map((each) => each.square().sum()).reduce((sum, each) => sum.add(each));
    };
    penalty().backward();
    // Against a difference quotient along one number of the last norm's weight.
    const weight = network.norm.weight;
    const analytic = weight.grad!.select(0, 0).item();
    const moved = (by: number): number => {
      noGrad(() => weight.select(0, 0).add_(by));
      const value = scope(() => penalty().item());
      noGrad(() => weight.select(0, 0).sub_(by));
      return value;
    };
    const numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
    expect(Math.abs(analytic / numeric - 1)).toBeLessThan(1e-6);
  });
});

test("a file of another network is refused with its missing, extra and misshaped tensors, and changes nothing", () => {
  scope(() => {
    using network = fillByFormula(built("vit"));
    const before = scope(() => [...network.stateDict().values()].map((each) => each.toNumbers()));
    expect(() => loadPretrained(network, `${FILES}dinov2-meta.pth`)).toThrow(/unexpected blocks\.0\.ls1\.gamma/);
    expect(() => loadPretrained(network, `${FILES}clip-openai.pt`)).toThrow(
      /missing patch_embed\.proj\.bias; unexpected norm_pre\.weight/,
    );
    expect([...network.stateDict().values()].map((each) => each.toNumbers())).toEqual(before);
    using wide = new VisionTransformer("wide", { ...LAYOUTS.vit, width: 16 }, { inputShape: [3, SIDE, SIDE] });
    expect(() => loadPretrained(wide, `${FILES}vit-torchvision.pth`)).toThrow(
      /wrong shape of cls_token: expected \[1, 1, 16\], got \[1, 1, 8\]/,
    );
  });
});

test.each(["clip-openai.pt", "vit-torchvision.pth", "vit-timm.safetensors"])(
  "a truncated %s is a clear error",
  (file) => {
    const folder = mkdtempSync(join(tmpdir(), "nudge-cut-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, file);
    const bytes = readFileSync(FILES + file);
    writeFileSync(path, bytes.subarray(0, Math.floor(bytes.length * 0.7)));
    expect(() => readWeights(path)).toThrow(DataError);
    expect(() => readWeights(path)).toThrow(path);
  },
);
