/** The ImageNet MobileNetV2 beside the repository, against torchvision's features of the same pictures (imagenet.py). */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { backboneNamed, loadPretrained } from "../../src/backbones/index.js";
import { scope } from "../../src/engine/scope.js";
import { noGrad } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { UsageError } from "../../src/errors.js";
import { withPrecision } from "../../src/nn/precision.js";
import { expectClose } from "../support/close.js";
import { squares } from "../support/picture.js";

const WEIGHTS = fileURLToPath(new URL("../../../shared/pretrained/mobilenet_v2-imagenet.safetensors", import.meta.url));
const VECTORS = fileURLToPath(new URL("../vectors/imagenet.safetensors", import.meta.url));
const absent = !existsSync(WEIGHTS);
const SKIPPED = "skipped: ../shared/pretrained/mobilenet_v2-imagenet.safetensors is not there";

test.for([true, false])(
  "the ImageNet MobileNetV2 gives torchvision's features (folded: %s)",
  (foldBatchNorm, { skip }) => {
    skip(absent, SKIPPED);
    scope(() => {
      using backbone = loadPretrained(backboneNamed("mobilenet_v2").build({ foldBatchNorm }), WEIGHTS);
      const features = noGrad(() => backbone.forward(squares()));
      expectClose(features, readWeights(VECTORS).get("features")!, { rtol: 1e-4, atol: 1e-4 });
    });
  },
);

test("its features in bf16 are as close to float32 as PyTorch's autocast, and are returned as float32", ({ skip }) => {
  skip(absent, SKIPPED);
  scope(() => {
    using backbone = loadPretrained(backboneNamed("mobilenet_v2").build(), WEIGHTS);
    const features = withPrecision("bf16", () => noGrad(() => backbone.forward(squares())));
    const expected = readWeights(VECTORS).get("features")!;
    expect(features.dtype).toBe("float32");
    // torch.autocast to bfloat16, where the batch norms round once more, is off by 6.7 % on these pictures.
    expect(features.sub(expected).norm().item() / expected.norm().item()).toBeLessThan(0.067);
  });
});

test("its batch norms are already folded, so training their statistics is refused", ({ skip }) => {
  skip(absent, SKIPPED);
  using backbone = backboneNamed("mobilenet_v2").build({ batchNorm: "trained" });
  expect(() => loadPretrained(backbone, WEIGHTS)).toThrow(UsageError);
  expect(() => loadPretrained(backbone, WEIGHTS)).toThrow(/its batch norms are folded.*Keep batchNorm: "frozen"/);
});
