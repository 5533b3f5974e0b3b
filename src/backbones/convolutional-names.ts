/**
 * The parameter names of published EfficientNet, RegNetY and ConvNeXt files: torchvision's, timm's, and for some Meta's
 * or Hugging Face's. A file is recognized by one name that all files of its kind contain, after any prefix (`module.`,
 * `regnet.`, `featurizer.network.`). Its tensors are renamed to torchvision's names, which the networks here use.
 *
 * ResNet and MobileNetV2 need no entry: torchvision's and timm's names for ResNet are the same.
 *
 * timm's conversions of TensorFlow's EfficientNets (`tf_efficientnet_*`) use timm's names, but have a different padding
 * and an epsilon of 1e-3. The tensors do not show this, so such a file cannot be rejected; docs/get-weights-and-data.md
 * warns about them.
 */

import type { Tensor } from "../engine/tensor.js";

export type ConvolutionalFamily = "efficientnet" | "regnet" | "convnext";

/** Patterns of names and their replacements; null for the classification layer. The first match applies. */
type Renaming = readonly (readonly [pattern: RegExp, target: string | ((...groups: string[]) => string) | null])[];

interface NamingScheme {
  readonly family: ConvolutionalFamily;
  readonly title: string;
  /** A name that every file of this kind contains. */
  readonly sign: string;
  readonly names: Renaming;
}

/** The parts of timm's blocks. The blocks of the first stage have no expansion convolution. */
const FIRST_BLOCK: Readonly<Record<string, string>> = {
  conv_dw: "0.0",
  bn1: "0.1",
  "se.conv_reduce": "1.fc1",
  "se.conv_expand": "1.fc2",
  conv_pw: "2.0",
  bn2: "2.1",
};
const LATER_BLOCK: Readonly<Record<string, string>> = {
  conv_pw: "0.0",
  bn1: "0.1",
  conv_dw: "1.0",
  bn2: "1.1",
  "se.conv_reduce": "2.fc1",
  "se.conv_expand": "2.fc2",
  conv_pwl: "3.0",
  bn3: "3.1",
};

const TIMM_EFFICIENTNET: Renaming = [
  [/^conv_stem\./, "features.0.0."],
  [/^bn1\./, "features.0.1."],
  [/^conv_head\./, "features.8.0."],
  [/^bn2\./, "features.8.1."],
  [
    /^blocks\.(\d+)\.(\d+)\.(conv_\w+|bn\d|se\.conv_\w+)\./,
    (_, stage, block, part) => {
      const parts = stage === "0" ? FIRST_BLOCK : LATER_BLOCK;
      return `features.${Number(stage) + 1}.${block}.block.${parts[part] ?? part}.`;
    },
  ],
  [/^classifier\./, null],
];

const CONV_OR_NORM: Readonly<Record<string, string>> = { conv: "0", convolution: "0", bn: "1", normalization: "1" };
const BRANCH = ["a", "b", "se", "c"];

/** Returns the name of a RegNet block from its numbers in a file. */
const regnetBlock = (stage: number, block: number): string => `trunk_output.block${stage}.block${stage}-${block}.`;

const TIMM_REGNET: Renaming = [
  [/^stem\.(conv|bn)\./, (_, part) => `stem.${CONV_OR_NORM[part]}.`],
  [
    /^s(\d+)\.b(\d+)\.conv([123])\.(conv|bn)\./,
    (_, stage, block, place, part) =>
      `${regnetBlock(Number(stage), Number(block) - 1)}f.${"abc"[Number(place) - 1]}.${CONV_OR_NORM[part]}.`,
  ],
  [/^s(\d+)\.b(\d+)\.se\./, (_, stage, block) => `${regnetBlock(Number(stage), Number(block) - 1)}f.se.`],
  [
    /^s(\d+)\.b(\d+)\.downsample\.(conv|bn)\./,
    (_, stage, block, part) => `${regnetBlock(Number(stage), Number(block) - 1)}proj.${CONV_OR_NORM[part]}.`,
  ],
  [/^head\./, null],
];

const HUGGING_FACE_REGNET: Renaming = [
  [/^embedder\.embedder\.(convolution|normalization)\./, (_, part) => `stem.${CONV_OR_NORM[part]}.`],
  [
    /^encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.([013])\.(convolution|normalization)\./,
    (_, stage, block, place, part) =>
      `${regnetBlock(Number(stage) + 1, Number(block))}f.${BRANCH[Number(place)]}.${CONV_OR_NORM[part]}.`,
  ],
  [
    /^encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.2\.attention\.([02])\./,
    (_, stage, block, place) => `${regnetBlock(Number(stage) + 1, Number(block))}f.se.fc${place === "0" ? 1 : 2}.`,
  ],
  [
    /^encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.(convolution|normalization)\./,
    (_, stage, block, part) => `${regnetBlock(Number(stage) + 1, Number(block))}proj.${CONV_OR_NORM[part]}.`,
  ],
];

/** The parts of a ConvNeXt block in the names of timm, Meta and Hugging Face. */
const CONVNEXT_BLOCK: Readonly<Record<string, string>> = {
  "conv_dw.": "block.0.",
  "dwconv.": "block.0.",
  "norm.": "block.2.",
  "layernorm.": "block.2.",
  "mlp.fc1.": "block.3.",
  "pwconv1.": "block.3.",
  "mlp.fc2.": "block.5.",
  "pwconv2.": "block.5.",
  gamma: "layer_scale",
  layer_scale_parameter: "layer_scale",
};
const convnextBlock = (_: string, stage: string, block: string, part: string): string =>
  `features.${2 * Number(stage) + 1}.${block}.${CONVNEXT_BLOCK[part]}`;
/** Returns the name of the layers before a stage: its downsampling layers, or the stem for the first stage. */
const convnextStart = (_: string, stage: string, part: string): string => `features.${2 * Number(stage)}.${part}.`;

const TIMM_CONVNEXT: Renaming = [
  [/^stem\.([01])\./, (_, part) => `features.0.${part}.`],
  [/^stages\.(\d+)\.downsample\.([01])\./, convnextStart],
  [/^stages\.(\d+)\.blocks\.(\d+)\.(conv_dw\.|norm\.|mlp\.fc[12]\.|gamma)/, convnextBlock],
  [/^head\.norm\./, "classifier.0."],
  [/^head\./, null],
];

const META_CONVNEXT: Renaming = [
  [/^downsample_layers\.(\d+)\.([01])\./, convnextStart],
  [/^stages\.(\d+)\.(\d+)\.(dwconv\.|norm\.|pwconv[12]\.|gamma)/, convnextBlock],
  [/^norm\./, "classifier.0."],
  [/^head\./, null],
];

const HUGGING_FACE_CONVNEXT: Renaming = [
  [/^embeddings\.patch_embeddings\./, "features.0.0."],
  [/^embeddings\.layernorm\./, "features.0.1."],
  [/^encoder\.stages\.(\d+)\.downsampling_layer\.([01])\./, convnextStart],
  [/^encoder\.stages\.(\d+)\.layers\.(\d+)\.(dwconv\.|layernorm\.|pwconv[12]\.|layer_scale_parameter)/, convnextBlock],
  [/^layernorm\./, "classifier.0."],
];

const SCHEMES: readonly NamingScheme[] = [
  {
    family: "efficientnet",
    title: "torchvision's",
    sign: "features.2.0.block.3.0.weight",
    names: [[/^classifier\./, null]],
  },
  { family: "efficientnet", title: "timm's", sign: "blocks.1.0.conv_pwl.weight", names: TIMM_EFFICIENTNET },
  {
    family: "regnet",
    title: "torchvision's",
    sign: "trunk_output.block1.block1-0.f.a.0.weight",
    names: [[/^fc\./, null]],
  },
  { family: "regnet", title: "timm's", sign: "s1.b1.conv1.conv.weight", names: TIMM_REGNET },
  {
    family: "regnet",
    title: "Hugging Face's",
    sign: "encoder.stages.0.layers.0.layer.0.convolution.weight",
    names: HUGGING_FACE_REGNET,
  },
  {
    family: "convnext",
    title: "torchvision's",
    sign: "features.1.0.layer_scale",
    names: [[/^classifier\.2\./, null]],
  },
  { family: "convnext", title: "timm's", sign: "stages.0.blocks.0.conv_dw.weight", names: TIMM_CONVNEXT },
  { family: "convnext", title: "Meta's", sign: "stages.0.0.dwconv.weight", names: META_CONVNEXT },
  {
    family: "convnext",
    title: "Hugging Face's",
    sign: "encoder.stages.0.layers.0.dwconv.weight",
    names: HUGGING_FACE_CONVNEXT,
  },
];

interface Found {
  readonly scheme: NamingScheme;
  /** The prefix of all names. */
  readonly prefix: string;
}

/** Returns the naming scheme of a file, or undefined if it is none of these networks. */
export function convolutionalScheme(names: Iterable<string>): Found | undefined {
  const all = [...names];
  for (const scheme of SCHEMES) {
    const sign = all.find((name) => name === scheme.sign || name.endsWith(`.${scheme.sign}`));
    if (sign !== undefined) return { scheme, prefix: sign.slice(0, sign.length - scheme.sign.length) };
  }
  return undefined;
}

/**
 * Converts a name in a file to the name in the network here. Returns undefined if it belongs to the classification
 * layer or to something else.
 */
export function convolutionalName(name: string, { scheme, prefix }: Found): string | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const own = name.slice(prefix.length);
  for (const [pattern, target] of scheme.names) {
    if (!pattern.test(own)) continue;
    if (target === null) return undefined;
    return typeof target === "string" ? own.replace(pattern, target) : own.replace(pattern, target);
  }
  return own;
}

/**
 * Converts the tensors of a file to the names and shapes of a network of this family. Files of other families stay
 * unchanged. Layer scales and linear layers have dimensions of size 1 in some files and not in others.
 */
export function namedAsConvolutional(
  family: ConvolutionalFamily,
  own: ReadonlyMap<string, Tensor>,
  file: ReadonlyMap<string, Tensor>,
): Map<string, Tensor> {
  const found = convolutionalScheme(file.keys());
  if (found?.scheme.family !== family) return new Map(file);
  const state = new Map<string, Tensor>();
  for (const [name, tensor] of file) {
    const known = convolutionalName(name, found);
    if (known === undefined) continue;
    const shape = own.get(known)?.shape;
    const same = shape && `${squeezed(shape)}` === `${squeezed(tensor.shape)}`;
    state.set(known, same ? tensor.reshape(...shape) : tensor);
  }
  return state;
}

const squeezed = (shape: readonly number[]): number[] => shape.filter((size) => size !== 1);
