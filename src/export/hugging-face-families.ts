/**
 * The networks that Hugging Face's `transformers` has too: the configuration that builds each there, and the names of
 * its tensors. Sizes are read from the tensors themselves. transformers.js needs only the configuration, because it
 * runs the ONNX file; for networks whose arithmetic differs in Python (EfficientNet pads as TensorFlow does), there are
 * no names.
 */

import { TRANSFORMERS } from "../backbones/transformer-layouts.js";
import { cat, zeros } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { ModelAbout } from "../model/about.js";
import { type PlainNetwork, type Rule, renamed, type State } from "./plain-network.js";

export interface HuggingFaceFamily {
  readonly modelType: string;
  /** The class in Python. */
  readonly architecture: string;
  /** The rest of `config.json`. */
  config(backbone: State, about: ModelAbout): Record<string, unknown>;
  /** The tensors under Hugging Face's names; absent if Python computes something else. */
  tensors?(network: PlainNetwork): Map<string, Tensor>;
}

/** Names under a prefix, by rules. */
const under = (prefix: string, state: State, rules: readonly Rule[]): Map<string, Tensor> =>
  new Map(Array.from(renamed(state, rules), ([name, tensor]) => [`${prefix}.${name}`, tensor]));

/** The number of numbered parts whose names match: `layer1.0`, `layer1.1`, … */
const partsIn = (state: State, pattern: RegExp): number =>
  new Set([...state.keys()].flatMap((name) => pattern.exec(name)?.[1] ?? [])).size;

const less = (text: string, by = 1): number => Number(text) - by;
const kind = (text: string): string => (text === "conv" ? "convolution" : "normalization");

const resnet: HuggingFaceFamily = {
  modelType: "resnet",
  architecture: "ResNetForImageClassification",
  config(state, { backbone }) {
    const stages = [1, 2, 3, 4];
    const isWide = state.has("layer1.0.conv3.weight");
    const last = isWide ? "conv3" : "conv2";
    return {
      num_channels: state.get("conv1.weight")!.size(1),
      embedding_size: state.get("conv1.weight")!.size(0),
      hidden_sizes: stages.map((stage) => state.get(`layer${stage}.0.${last}.weight`)!.size(0)),
      depths: stages.map((stage) => partsIn(state, new RegExp(`^layer${stage}\\.(\\d+)\\.`))),
      layer_type: isWide ? "bottleneck" : "basic",
      hidden_act: "relu",
      downsample_in_first_stage: false,
      downsample_in_bottleneck: backbone.endsWith("_v1"),
    };
  },
  tensors: ({ backbone: state, head: { weight, bias } }) =>
    under("resnet", state, [
      [/^(conv|bn)1\./, (part) => `embedder.embedder.${kind(part)}.`],
      [
        /^layer(\d)\.(\d+)\.(conv|bn)(\d)\./,
        (stage, block, part, at) => `encoder.stages.${less(stage)}.layers.${block}.layer.${less(at)}.${kind(part)}.`,
      ],
      [
        /^layer(\d)\.(\d+)\.downsample\.([01])\./,
        (stage, block, at) =>
          `encoder.stages.${less(stage)}.layers.${block}.shortcut.${kind(at === "0" ? "conv" : "bn")}.`,
      ],
    ])
      .set("classifier.1.weight", weight)
      .set("classifier.1.bias", bias),
};

/** The two layers of a ConvNorm, and those of the projection at the end of a block, which has no activation. */
const inPair = (at: string): string => kind(at === "0" ? "conv" : "bn");

const mobilenetV2: HuggingFaceFamily = {
  modelType: "mobilenet_v2",
  architecture: "MobileNetV2ForImageClassification",
  config: (state, { preprocessing }) => ({
    num_channels: state.get("features.0.0.weight")!.size(1),
    image_size: preprocessing.inputShape[1],
    depth_multiplier: 1,
    depth_divisible_by: 8,
    min_depth: 8,
    expand_ratio: 6,
    output_stride: 32,
    first_layer_is_expansion: true,
    finegrained_output: true,
    hidden_act: "relu6",
    tf_padding: false, // torchvision pads both sides
    classifier_dropout_prob: 0,
    layer_norm_eps: 1e-5,
  }),
  tensors: ({ backbone: state, head: { weight, bias } }) =>
    under("mobilenet_v2", state, [
      [/^features\.0\.([01])\./, (at) => `conv_stem.first_conv.${inPair(at)}.`],
      [/^features\.1\.conv\.0\.([01])\./, (at) => `conv_stem.conv_3x3.${inPair(at)}.`],
      [/^features\.1\.conv\.([12])\./, (at) => `conv_stem.reduce_1x1.${inPair(String(less(at)))}.`],
      [/^features\.18\.([01])\./, (at) => `conv_1x1.${inPair(at)}.`],
      [/^features\.(\d+)\.conv\.0\.([01])\./, (i, at) => `layer.${less(i, 2)}.expand_1x1.${inPair(at)}.`],
      [/^features\.(\d+)\.conv\.1\.([01])\./, (i, at) => `layer.${less(i, 2)}.conv_3x3.${inPair(at)}.`],
      [/^features\.(\d+)\.conv\.([23])\./, (i, at) => `layer.${less(i, 2)}.reduce_1x1.${inPair(String(less(at, 2)))}.`],
    ])
      .set("classifier.weight", weight)
      .set("classifier.bias", bias),
};

/** The matrices of q, k and v are one in timm's names and three in Hugging Face's. */
function withSplitAttention(state: State): Map<string, Tensor> {
  const made = new Map<string, Tensor>();
  for (const [name, tensor] of state) {
    const rows = tensor.size(0) / 3;
    if (!name.includes(".attn.qkv.")) made.set(name, tensor);
    else
      for (const [i, part] of ["query", "key", "value"].entries())
        made.set(name.replace("qkv", part), tensor.narrow(0, i * rows, rows).clone());
  }
  return made;
}

const TOKENS: readonly Rule[] = [
  [/^cls_token$/, () => "embeddings.cls_token"],
  [/^pos_embed$/, () => "embeddings.position_embeddings"],
  [/^register_tokens$/, () => "embeddings.register_tokens"],
  [/^patch_embed\.proj\./, () => "embeddings.patch_embeddings.projection."],
  [/^norm\./, () => "layernorm."],
  [/^blocks\.(\d+)\.attn\.(query|key|value)\./, (i, part) => `encoder.layer.${i}.attention.attention.${part}.`],
  [/^blocks\.(\d+)\.attn\.proj\./, (i) => `encoder.layer.${i}.attention.output.dense.`],
];

/** What the configurations of vision transformers share. */
function transformerConfig(state: State, { backbone, backboneOptions, preprocessing }: ModelAbout) {
  const { heads, patch, variant } = TRANSFORMERS[backbone as keyof typeof TRANSFORMERS];
  const { eps, gelu } = { ...variant, ...backboneOptions.variant } as typeof variant;
  return {
    num_channels: preprocessing.inputShape[0],
    image_size: preprocessing.inputShape[1],
    patch_size: patch,
    hidden_size: state.get("cls_token")!.size(2),
    num_hidden_layers: partsIn(state, /^blocks\.(\d+)\./),
    num_attention_heads: heads,
    hidden_act: gelu === "quick" ? "quick_gelu" : "gelu",
    layer_norm_eps: eps,
    qkv_bias: true,
  };
}

const vit: HuggingFaceFamily = {
  modelType: "vit",
  architecture: "ViTForImageClassification",
  config: (state, about) => ({
    ...transformerConfig(state, about),
    intermediate_size: state.get("blocks.0.mlp.fc1.bias")!.size(0),
  }),
  tensors: ({ backbone: state, head: { weight, bias } }) =>
    under("vit", withSplitAttention(state), [
      ...TOKENS,
      [/^blocks\.(\d+)\.norm1\./, (i) => `encoder.layer.${i}.layernorm_before.`],
      [/^blocks\.(\d+)\.norm2\./, (i) => `encoder.layer.${i}.layernorm_after.`],
      [/^blocks\.(\d+)\.mlp\.fc1\./, (i) => `encoder.layer.${i}.intermediate.dense.`],
      [/^blocks\.(\d+)\.mlp\.fc2\./, (i) => `encoder.layer.${i}.output.dense.`],
    ])
      .set("classifier.weight", weight)
      .set("classifier.bias", bias),
};

const dinov2 = (modelType: string, name: string): HuggingFaceFamily => ({
  modelType,
  architecture: `${name}ForImageClassification`,
  config: (state, about) => ({
    ...transformerConfig(state, about),
    mlp_ratio: 4,
    use_swiglu_ffn: false,
    ...(state.has("register_tokens") && { num_register_tokens: state.get("register_tokens")!.size(1) }),
  }),
  tensors({ backbone: state, head: { weight, bias } }) {
    const width = weight.size(1);
    const made = under(modelType, withSplitAttention(state), [
      ...TOKENS,
      [/^blocks\.(\d+)\.(norm[12]|mlp\.fc[12])\./, (i, part) => `encoder.layer.${i}.${part}.`],
      [/^blocks\.(\d+)\.ls([12])\.gamma$/, (i, k) => `encoder.layer.${i}.layer_scale${k}.lambda1`],
    ]);
    made.set(`${modelType}.embeddings.mask_token`, zeros([1, width]));
    // The classifier there also reads the mean of the patches, which has no effect here.
    return made.set("classifier.weight", cat([weight, zeros(weight.shape)], 1)).set("classifier.bias", bias);
  },
});

const convnext: HuggingFaceFamily = {
  modelType: "convnext",
  architecture: "ConvNextForImageClassification",
  config: (state, { preprocessing }) => ({
    num_channels: preprocessing.inputShape[0],
    image_size: preprocessing.inputShape[1],
    patch_size: 4,
    num_stages: 4,
    hidden_sizes: [1, 3, 5, 7].map((stage) => state.get(`features.${stage}.0.layer_scale`)!.size(0)),
    depths: [1, 3, 5, 7].map((stage) => partsIn(state, new RegExp(`^features\\.${stage}\\.(\\d+)\\.`))),
    hidden_act: "gelu",
    layer_norm_eps: 1e-6,
    layer_scale_init_value: 1e-6,
  }),
  tensors({ backbone: state, head: { weight, bias } }) {
    const vectors = new Map(
      Array.from(state, ([name, tensor]) => [name, name.endsWith(".layer_scale") ? tensor.flatten() : tensor]),
    );
    const stage = (i: string): string => `encoder.stages.${Math.floor(Number(i) / 2)}`;
    return under("convnext", vectors, [
      [/^features\.0\.0\./, () => "embeddings.patch_embeddings."],
      [/^features\.0\.1\./, () => "embeddings.layernorm."],
      [/^features\.([246])\.([01])\./, (i, at) => `${stage(i)}.downsampling_layer.${at}.`],
      [/^features\.(\d)\.(\d+)\.layer_scale$/, (i, j) => `${stage(i)}.layers.${j}.layer_scale_parameter`],
      [/^features\.(\d)\.(\d+)\.block\.0\./, (i, j) => `${stage(i)}.layers.${j}.dwconv.`],
      [/^features\.(\d)\.(\d+)\.block\.2\./, (i, j) => `${stage(i)}.layers.${j}.layernorm.`],
      [/^features\.(\d)\.(\d+)\.block\.3\./, (i, j) => `${stage(i)}.layers.${j}.pwconv1.`],
      [/^features\.(\d)\.(\d+)\.block\.5\./, (i, j) => `${stage(i)}.layers.${j}.pwconv2.`],
      [/^classifier\.0\./, () => "layernorm."],
    ])
      .set("classifier.weight", weight)
      .set("classifier.bias", bias);
  },
};

const efficientnet: HuggingFaceFamily = {
  modelType: "efficientnet",
  architecture: "EfficientNetForImageClassification",
  config: (_, { preprocessing }) => ({
    num_channels: preprocessing.inputShape[0],
    image_size: preprocessing.inputShape[1],
  }),
};

/** Families by the beginning of the backbone's id. The first match applies. */
const FAMILIES: readonly (readonly [RegExp, HuggingFaceFamily])[] = [
  [/^resnet/, resnet],
  [/^mobilenet_v2$/, mobilenetV2],
  [/^vit_/, vit],
  [/^dinov2_.*_reg$/, dinov2("dinov2_with_registers", "Dinov2WithRegisters")],
  [/^dinov2_/, dinov2("dinov2", "Dinov2")],
  [/^convnext_/, convnext],
  [/^efficientnet_/, efficientnet],
];

/** The family of a backbone, or undefined if `transformers` has none. */
export const familyOf = (backbone: string): HuggingFaceFamily | undefined =>
  FAMILIES.find(([pattern]) => pattern.test(backbone))?.[1];

/** The names of the backbones that can be exported, for errors. */
export const KNOWN_FAMILIES = "ResNet, MobileNetV2, ViT, DINOv2, ConvNeXt and EfficientNet";
