/**
 * Information about a weight file, from its tensors and from the list of published weights: its backbone, the
 * normalization of pictures, and choices of its publisher that the tensors do not show. Only the header of the file is
 * read.
 */

import { basename } from "node:path";
import type { Normalization } from "../data/normalization.js";
import { normalizationOf } from "../data/normalization.js";
import { openWeights } from "../engine/open-weights.js";
import { TORCHSCRIPT } from "../engine/pth.js";
import type { StoredTensor, WeightsFile } from "../engine/stored-tensor.js";
import type { NetworkVariant } from "./backbone.js";
import { backboneOfNames, RESNET50_V1, statedBackbone } from "./backbone-of-weights.js";
import { CLIP_RESNET_STRIDE, clipResNetPrefix, clipRn50 } from "./clip-resnet.js";
import { convolutionalName, convolutionalScheme } from "./convolutional-names.js";
import { backboneNamed, backbones } from "./index.js";
import {
  fileOf,
  framingOf,
  type PublishedFraming,
  type PublishedWeights,
  publishedWeights,
  publishedWeightsNamed,
  usualFraming,
} from "./published-weights.js";
import { TRANSFORMERS } from "./transformer-layouts.js";
import { positionRule, renamed, schemeOf } from "./transformer-names.js";
import type { TransformerLayout } from "./vision-transformer.js";

export interface WeightsFacts {
  /** The id of the backbone, or undefined if the tensors match none of the known ones. */
  readonly backbone?: string;
  /** A description of the tensors for error messages. */
  readonly description: string;
  readonly normalization: Normalization;
  /** How pictures of any shape become its input. */
  readonly framing: PublishedFraming;
  /** The choices of the publisher that differ from the defaults of the backbone. */
  readonly variant?: NetworkVariant;
  /** Whether the file does not determine the variant of GELU: CLIP files of open_clip and Hugging Face. */
  readonly geluIsOpen?: true;
}

/**
 * Returns the information about a file. Published files are recognized by their SHA-256, or its first digits,
 * independently of their names.
 */
export function weightsFacts(path: string, sha256?: string): WeightsFacts {
  using file = openWeights(path);
  const facts = transformerFacts(file) ?? clipResNetFacts(file) ?? convolutionalFacts(file) ?? plainFacts(file);
  const published = publishedAs(path, sha256, facts.backbone) ?? publishedFor(facts.backbone, file);
  const { normalization, gelu, positions } = published ?? {};
  const own = factsOfModel(file);
  const variant = { ...facts.variant, ...(gelu && { gelu }), ...(positions && { positions }), ...own?.variant };
  return {
    ...facts,
    normalization: own?.normalization ?? normalization ?? facts.normalization,
    framing: own?.framing ?? (published ? framingOf(published) : facts.framing),
    ...(Object.keys(variant).length > 0 && { variant }),
    ...(facts.geluIsOpen && variant.gelu === undefined ? { geluIsOpen: true } : { geluIsOpen: undefined }),
  };
}

/** Returns the published weights of a backbone whose files say so themselves, whatever their hash. */
const publishedFor = (backbone: string | undefined, { metadata }: WeightsFile): PublishedWeights | undefined =>
  backbone !== undefined && backbone === metadata.backbone ? publishedWeightsNamed(backbone) : undefined;

/** Returns the published weights with this hash; without a published hash, those of this backbone and file name. */
function publishedAs(path: string, sha256: string | undefined, backbone?: string): PublishedWeights | undefined {
  if (sha256 === undefined) return undefined;
  return publishedWeights().find((each) => {
    if (each.sha256 === undefined) return each.backbone === backbone && fileOf(each) === basename(path);
    const digits = Math.min(each.sha256.length, sha256.length);
    return digits >= 8 && each.sha256.slice(0, digits) === sha256.slice(0, digits);
  });
}

/** Reads the information that models written by this program contain. */
function factsOfModel({ metadata }: WeightsFile): Partial<WeightsFacts> | undefined {
  try {
    const { preprocessing, backboneOptions } = JSON.parse(metadata.nudge ?? "null") ?? {};
    if (preprocessing?.kind !== "pictures") return undefined;
    const { inputShape, resize = "stretch", interpolation = "bilinear" } = preprocessing;
    const framing = { size: Number(inputShape[1]), resize, interpolation };
    return { normalization: normalizationOf(preprocessing), framing, variant: backboneOptions?.variant };
  } catch {
    return undefined; // loading the file as a model reports the problem
  }
}

function plainFacts({ tensors, metadata }: WeightsFile): WeightsFacts {
  const named = backboneOfNames([...tensors.keys()]);
  const backbone = named === "resnet50" && statedBackbone(metadata) === RESNET50_V1 ? RESNET50_V1 : named;
  const [first] = tensors.keys();
  return {
    backbone,
    description:
      backbone ?? `no network that is known here (${tensors.size} tensors, for example ${JSON.stringify(first)})`,
    normalization: "imagenet",
    framing: framingOfBackbone(backbone),
  };
}

/** Returns the framing of the weights that a backbone starts from by default. */
function framingOfBackbone(backbone: string | undefined): PublishedFraming {
  const published = backbone === undefined ? undefined : publishedWeightsNamed(backbone);
  return published ? framingOf(published) : usualFraming;
}

/** EfficientNet, RegNet and ConvNeXt are identified by the number of features and of blocks. */
function convolutionalFacts({ tensors }: WeightsFile): WeightsFacts | undefined {
  const found = convolutionalScheme(tensors.keys());
  if (!found) return undefined;
  const { family, title } = found.scheme;
  const blocks = new Set<string>();
  let width = 0;
  for (const [name, { shape }] of tensors) {
    const own = convolutionalName(name, found) ?? "";
    const block = /^(features\.\d+\.\d+\.(?=block|layer_scale)|trunk_output\.block\d+\.block\d+-\d+\.)/.exec(own)?.[0];
    if (block !== undefined) blocks.add(block);
    // The last convolution or norm. For a RegNet, the last convolution of the widest stage.
    if (own === "features.8.0.weight" || own === "classifier.0.weight") width = shape[0];
    if (/\.f\.c\.0\.weight$/.test(own)) width = Math.max(width, shape[0]);
  }
  const backbone = Object.values(backbones)
    .map(({ id }) => backboneNamed(id))
    .find((each) => each.id.startsWith(family) && each.width === width && each.blocks === blocks.size)?.id;
  const names = { efficientnet: "an EfficientNet", regnet: "a RegNet", convnext: "a ConvNeXt" };
  return {
    backbone,
    description: `${names[family]} of ${width} features and ${blocks.size} blocks, under ${title} names`,
    normalization: "imagenet",
    framing: title === "timm's" && family === "convnext" ? BICUBIC_256 : framingOfBackbone(backbone),
  };
}

function transformerFacts(file: WeightsFile): WeightsFacts | undefined {
  const found = schemeOf(file.tensors.keys());
  if (!found) return undefined;
  const shapes = new Map<string, StoredTensor["shape"]>();
  for (const [name, { shape }] of file.tensors) {
    const own = renamed(name, found);
    if (typeof own === "string") shapes.set(own, shape);
  }
  const [width, , patch] = shapes.get("patch_embed.proj.weight") ?? [];
  const depth =
    1 + Math.max(-1, ...Array.from(shapes.keys(), (name) => Number(/^blocks\.(\d+)\./.exec(name)?.[1] ?? -1)));
  const has = {
    registers: shapes.get("register_tokens")?.at(-2) ?? 0,
    layerScale: shapes.has("blocks.0.ls1.gamma"),
    clip: shapes.has("norm_pre.weight"),
  };
  const backbone = Object.entries(TRANSFORMERS).find(
    ([, layout]: [string, TransformerLayout]) =>
      layout.width === width &&
      layout.depth === depth &&
      layout.patch === patch &&
      (layout.registers ?? 0) === has.registers &&
      (layout.layerScale ?? false) === has.layerScale &&
      (layout.projection !== undefined) === has.clip,
  )?.[0];
  const kind = has.clip ? "a CLIP image tower" : has.layerScale ? "a DINOv2" : "a ViT";
  const registers = has.registers > 0 ? ` and ${has.registers} registers` : "";
  const { scheme } = found;
  const isOpenAi = file.metadata.format === TORCHSCRIPT;
  return {
    backbone,
    description: `${kind} of width ${width}, ${depth} blocks, patches of ${patch} pixels${registers}, under ${scheme.title} names`,
    normalization: has.clip ? "clip" : normalizationIn(scheme.id, has.layerScale),
    framing: has.layerScale
      ? BICUBIC_256
      : framingAtSize(has.clip ? CLIP : (VIT[scheme.id] ?? usualFraming), trainedSize(shapes, patch)),
    variant: {
      positions: positionRule(scheme, { dinov2: has.layerScale, registers: has.registers > 0 }),
      // Hugging Face's ViT has an epsilon of 1e-12, the others 1e-6. Its DINOv2 also has 1e-6.
      ...(scheme.id === "hugging-face" && !has.layerScale && { eps: 1e-12 }),
      ...(has.clip && isOpenAi && { gelu: "quick" as const }),
    },
    ...(has.clip && !isOpenAi && { geluIsOpen: true }),
  };
}

/** A CLIP ResNet is identified by the number of features and of blocks. */
function clipResNetFacts({ tensors }: WeightsFile): WeightsFacts | undefined {
  const prefix = clipResNetPrefix(tensors.keys());
  if (prefix === undefined) return undefined;
  const [features = 0] = tensors.get(`${prefix}attnpool.c_proj.weight`)?.shape ?? [];
  const blocks = Array.from(tensors.keys()).filter((name) => /layer\d\.\d+\.conv1\.weight$/.test(name)).length;
  const side = Math.sqrt(tensors.get(`${prefix}attnpool.positional_embedding`)!.shape[0] - 1);
  const isKnown = features === clipRn50.width && blocks === clipRn50.blocks;
  return {
    backbone: isKnown ? clipRn50.id : undefined,
    description: `a CLIP ResNet of ${features} features and ${blocks} blocks, under OpenAI's CLIP names`,
    normalization: "clip",
    framing: framingAtSize(CLIP, Number.isInteger(side) && side > 0 ? side * CLIP_RESNET_STRIDE : undefined),
    variant: { positions: "timm" },
  };
}

const CLIP: PublishedFraming = { size: 224, resize: 224, interpolation: "bicubic" };
/** Meta's of DINOv2, and timm's of ConvNeXt. */
const BICUBIC_256: PublishedFraming = { size: 224, resize: 256, interpolation: "bicubic" };
/** Of ViT, by naming; that of torchvision is the usual one. Hugging Face's processor resizes the whole picture. */
const VIT: Readonly<Record<string, PublishedFraming>> = {
  timm: { size: 224, resize: 248, interpolation: "bicubic" },
  "hugging-face": { size: 224, resize: "stretch", interpolation: "bilinear" },
};

/**
 * Returns the height and width for which a transformer's position embeddings are made, or undefined if they are not
 * square.
 */
function trainedSize(shapes: ReadonlyMap<string, StoredTensor["shape"]>, patch: number): number | undefined {
  const side = Math.sqrt((shapes.get("pos_embed")?.at(-2) ?? 0) - 1);
  return Number.isInteger(side) && side > 0 ? side * patch : undefined;
}

const framingAtSize = (framing: PublishedFraming, size = framing.size): PublishedFraming => ({
  ...framing,
  size,
  resize: framing.resize === "stretch" ? "stretch" : Math.floor((framing.resize * size) / framing.size),
});

/** Returns the default normalization of a publisher. timm's and Google's ViT normalize to the range from -1 to 1. */
const normalizationIn = (scheme: string, dinov2: boolean): Normalization =>
  !dinov2 && (scheme === "timm" || scheme === "hugging-face") ? "half" : "imagenet";
