import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { normalizations } from "../data/normalization.js";
import { scope } from "../engine/scope.js";
import { backboneNamed } from "./index.js";
import { publishedWeightsNamed } from "./published-weights.js";
import { TRANSFORMERS } from "./transformer-layouts.js";
import { weightsFacts } from "./weights-facts.js";

const FILES = fileURLToPath(new URL("../../tests/vectors/transformers/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-facts-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a safetensors file with a header for these shapes and a sparse region for the data. */
function writeHeader(
  name: string,
  shapes: Iterable<[string, readonly number[]]>,
  metadata: Readonly<Record<string, string>> = {},
): string {
  let end = 0;
  const tensors = Array.from(shapes, ([key, shape]) => {
    const begin = end;
    end += shape.reduce((product, size) => product * size, 4);
    return [key, { dtype: "F32", shape, data_offsets: [begin, end] }] as const;
  });
  const header = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(tensors) });
  const padded = header + " ".repeat((8 - (Buffer.byteLength(header) % 8)) % 8);
  const path = join(folder, name);
  const file = openSync(path, "w");
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  writeSync(file, Buffer.concat([length, Buffer.from(padded)]));
  ftruncateSync(file, 8 + padded.length + end);
  closeSync(file);
  return path;
}

test.each(Object.keys(TRANSFORMERS))("%s is recognised by its tensors, and by a published file of its name", (id) => {
  const path = scope(() => {
    using backbone = backboneNamed(id).build();
    const shapes = [...backbone.stateDict()].map(([name, { shape }]): [string, readonly number[]] => [
      // timm stores CLIP's projection as a head.
      name === "projection.weight" ? "head.weight" : name,
      shape,
    ]);
    return writeHeader(`${id}.safetensors`, shapes);
  });
  expect(weightsFacts(path).backbone).toBe(id);
  rmSync(path);
  expect(publishedWeightsNamed(id)?.backbone).toBe(id);
});

const vit = "a ViT of width 8, 4 blocks, patches of 4 pixels";
const dino = "a DINOv2 of width 8, 4 blocks, patches of 4 pixels";
const clip = "a CLIP image tower of width 8, 4 blocks, patches of 4 pixels";

test.each([
  ["vit-torchvision.pth", `${vit}, under torchvision's ViT names`, "imagenet", { positions: "torchvision" }],
  ["vit-timm.safetensors", `${vit}, under timm's ViT names`, "half", { positions: "timm" }],
  [
    "vit-hugging-face.safetensors",
    `${vit}, under Hugging Face's ViT names`,
    "half",
    { positions: "hugging-face", eps: 1e-12 },
  ],
  ["dinov2-meta.pth", `${dino}, under timm's ViT names`, "imagenet", { positions: "dinov2" }],
  [
    "dinov2-hugging-face.safetensors",
    `${dino}, under Hugging Face's ViT names`,
    "imagenet",
    { positions: "hugging-face" },
  ],
  ["dinov2-registers-meta.pth", `${dino} and 4 registers, under timm's ViT names`, "imagenet", { positions: "timm" }],
  ["clip-openai.pt", `${clip}, under OpenAI's CLIP names`, "clip", { positions: "timm", gelu: "quick" }],
  ["clip-open-clip.pth", `${clip}, under OpenAI's CLIP names`, "clip", { positions: "timm" }],
  ["clip-hugging-face.safetensors", `${clip}, under Hugging Face's CLIP names`, "clip", { positions: "hugging-face" }],
  ["clip-timm.safetensors", `${clip}, under timm's ViT names`, "clip", { positions: "timm" }],
])("%s is described by its tensors", (file, description, normalization, variant) => {
  const facts = weightsFacts(FILES + file);
  expect(facts).toMatchObject({ description, normalization, variant });
  expect(facts.backbone).toBeUndefined();
  expect(facts.geluIsOpen).toBe(file.startsWith("clip") && file !== "clip-openai.pt" ? true : undefined);
});

test("a published file is recognised by its hash, and its published facts are used", () => {
  const { sha256 } = publishedWeightsNamed("clip_vit_b_32")!;
  const facts = weightsFacts(`${FILES}clip-open-clip.pth`, sha256);
  expect(facts.variant?.gelu).toBe("quick");
  expect(facts.geluIsOpen).toBeUndefined();
});

test("weights of other networks are described by a tensor of theirs", () => {
  const path = writeHeader("other.safetensors", [["lstm.weight_ih_l0", [4, 4]]]);
  expect(weightsFacts(path)).toMatchObject({
    description: 'no network that is known here (1 tensors, for example "lstm.weight_ih_l0")',
    normalization: "imagenet",
  });
});

test("of the two ResNet-50s, a file says itself that it is the one with the strides of the paper", () => {
  const names = ["layer1.0.conv3.weight", "layer3.5.conv3.weight"].map((name): [string, number[]] => [name, [1]]);
  const factsWith = (metadata: Record<string, string>) => weightsFacts(writeHeader("r.safetensors", names, metadata));
  expect(factsWith({})).toMatchObject({ backbone: "resnet50", normalization: "imagenet" });
  // Also without the hash of the published file, for example after a conversion to other precision.
  expect(factsWith({ backbone: "resnet50_v1" })).toMatchObject({ backbone: "resnet50_v1", normalization: "caffe" });
  const model = {
    backbone: "resnet50_v1",
    preprocessing: { kind: "pictures", ...normalizations.half, inputShape: [3, 64, 64] },
  };
  const facts = factsWith({ nudge: JSON.stringify(model) });
  expect(facts).toMatchObject({ backbone: "resnet50_v1", normalization: "half", framing: { size: 64 } });
});
