/** The networks that torchvision and timm build: how to build each there, and the names of its tensors. */

import { TRANSFORMERS } from "../backbones/transformer-layouts.js";
import type { Tensor } from "../engine/tensor.js";
import type { ModelAbout } from "../model/about.js";
import { type PlainNetwork, type Rule, renamed, type State } from "./plain-network.js";

export interface PyTorchFamily {
  readonly package: "torchvision" | "timm";
  /** The expression that builds the network with random weights. */
  build(about: ModelAbout): string;
  /** The tensors under the names of that network. */
  tensors(network: PlainNetwork): Map<string, Tensor>;
}

/** A network of torchvision with the same names as here, and a linear layer of this name. */
const torchvision = (head: string): PyTorchFamily => ({
  package: "torchvision",
  build: ({ backbone, classes }) => `torchvision.models.${backbone}(num_classes=${classes.length})`,
  tensors: ({ backbone, head: { weight, bias } }) =>
    new Map(backbone).set(`${head}.weight`, weight).set(`${head}.bias`, bias),
});

/** He's network: torchvision's ResNet-50 with the stride in the first convolution of a block. */
const resnet50V1: PyTorchFamily = {
  ...torchvision("fc"),
  build: ({ classes }) => `with_v1_strides(torchvision.models.resnet50(num_classes=${classes.length}))`,
};

const layer = (i: string): string => `encoder.layers.encoder_layer_${i}.`;

const VIT: readonly Rule[] = [
  [/^cls_token$/, () => "class_token"],
  [/^pos_embed$/, () => "encoder.pos_embedding"],
  [/^patch_embed\.proj\./, () => "conv_proj."],
  [/^norm\./, () => "encoder.ln."],
  [/^blocks\.(\d+)\.norm([12])\./, (i, k) => `${layer(i)}ln_${k}.`],
  [/^blocks\.(\d+)\.attn\.qkv\./, (i) => `${layer(i)}self_attention.in_proj_`],
  [/^blocks\.(\d+)\.attn\.proj\./, (i) => `${layer(i)}self_attention.out_proj.`],
  [/^blocks\.(\d+)\.mlp\.fc1\./, (i) => `${layer(i)}mlp.0.`],
  [/^blocks\.(\d+)\.mlp\.fc2\./, (i) => `${layer(i)}mlp.3.`],
];

const vit: PyTorchFamily = {
  package: "torchvision",
  build: ({ backbone, classes, preprocessing }) =>
    `torchvision.models.${backbone}(num_classes=${classes.length}, image_size=${preprocessing.inputShape[1]})`,
  tensors: ({ backbone, head: { weight, bias } }) =>
    renamed(backbone, VIT).set("heads.head.weight", weight).set("heads.head.bias", bias),
};

const SIZES: Readonly<Record<number, string>> = { 384: "small", 768: "base", 1024: "large" };

/** ViT and DINOv2 of timm, whose names are those here. */
const timm: PyTorchFamily = {
  package: "timm",
  build({ backbone, classes, preprocessing }) {
    const { width, patch, ...rest } = TRANSFORMERS[backbone as keyof typeof TRANSFORMERS];
    const registers = "registers" in rest ? `_reg${rest.registers}` : "";
    const name = `vit_${SIZES[width]}_patch${patch}${registers}${backbone.startsWith("dinov2") ? "_dinov2" : "_224"}`;
    const size = `num_classes=${classes.length}, img_size=${preprocessing.inputShape[1]}`;
    return `timm.create_model("${name}", ${size})`;
  },
  tensors: ({ backbone, head: { weight, bias } }) =>
    withRegisters(backbone).set("head.weight", weight).set("head.bias", bias),
};

/** With registers, timm has no position for the class token: it is part of the token. */
function withRegisters(state: State): Map<string, Tensor> {
  const made = new Map(state);
  const registers = state.get("register_tokens");
  if (!registers) return made;
  const positions = state.get("pos_embed")!;
  made.delete("register_tokens");
  return made
    .set("reg_token", registers)
    .set("cls_token", state.get("cls_token")!.add(positions.narrow(1, 0, 1)))
    .set("pos_embed", positions.narrow(1, 1, positions.size(1) - 1).clone());
}

/** Families by the backbone's id. The first match applies. */
const FAMILIES: readonly (readonly [RegExp, PyTorchFamily])[] = [
  [/^resnet50_v1$/, resnet50V1],
  [/^(resnet|regnet_y_)/, torchvision("fc")],
  [/^(mobilenet_v2$|efficientnet_)/, torchvision("classifier.1")],
  [/^convnext_/, torchvision("classifier.2")],
  [/^vit_[bl]_/, vit],
  [/^(vit_s_|dinov2_)/, timm],
];

/** The family of a backbone, or undefined if neither package has it. */
export const pytorchFamily = (backbone: string): PyTorchFamily | undefined =>
  FAMILIES.find(([pattern]) => pattern.test(backbone))?.[1];
