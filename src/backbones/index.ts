/** All backbones. To add one, add a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { BackboneDefinition } from "./backbone.js";
import { clipRn50 } from "./clip-resnet.js";
import { convnextBase, convnextSmall, convnextTiny } from "./convnext.js";
import { diagonalMap } from "./diagonal-map.js";
import { efficientnetB0, efficientnetB1, efficientnetB2, efficientnetB3, efficientnetB4 } from "./efficientnet.js";
import { linearMap } from "./linear-map.js";
import { mlp } from "./mlp.js";
import { mnistCnn } from "./mnist-cnn.js";
import { mobilenetV2 } from "./mobilenet-v2.js";
import {
  regnetY8gf,
  regnetY16gf,
  regnetY32gf,
  regnetY400mf,
  regnetY800mf,
  regnetY1600mf,
  regnetY3200mf,
} from "./regnet.js";
import { resnet18, resnet34, resnet50, resnet50V1, resnet101, resnet152 } from "./resnet.js";
import { smallCnn } from "./small-cnn.js";
import { toyCnn } from "./toy-cnn.js";
import {
  clipB16,
  clipB32,
  clipL14,
  dinov2B14,
  dinov2B14Reg,
  dinov2L14,
  dinov2L14Reg,
  dinov2S14,
  dinov2S14Reg,
  vitB16,
  vitB32,
  vitL16,
  vitS16,
} from "./transformers.js";
import { wideResNet } from "./wide-resnet.js";

/** Backbones by id. */
export const backbones = {
  mlp,
  "linear-map": linearMap,
  "diagonal-map": diagonalMap,
  "toy-cnn": toyCnn,
  "small-cnn": smallCnn,
  "mnist-cnn": mnistCnn,
  "wide-resnet-16-2": wideResNet,
  resnet18,
  resnet34,
  resnet50,
  resnet50_v1: resnet50V1,
  resnet101,
  resnet152,
  mobilenet_v2: mobilenetV2,
  efficientnet_b0: efficientnetB0,
  efficientnet_b1: efficientnetB1,
  efficientnet_b2: efficientnetB2,
  efficientnet_b3: efficientnetB3,
  efficientnet_b4: efficientnetB4,
  regnet_y_400mf: regnetY400mf,
  regnet_y_800mf: regnetY800mf,
  regnet_y_1_6gf: regnetY1600mf,
  regnet_y_3_2gf: regnetY3200mf,
  regnet_y_8gf: regnetY8gf,
  regnet_y_16gf: regnetY16gf,
  regnet_y_32gf: regnetY32gf,
  convnext_tiny: convnextTiny,
  convnext_small: convnextSmall,
  convnext_base: convnextBase,
  vit_s_16: vitS16,
  vit_b_16: vitB16,
  vit_b_32: vitB32,
  vit_l_16: vitL16,
  dinov2_vits14: dinov2S14,
  dinov2_vitb14: dinov2B14,
  dinov2_vitl14: dinov2L14,
  dinov2_vits14_reg: dinov2S14Reg,
  dinov2_vitb14_reg: dinov2B14Reg,
  dinov2_vitl14_reg: dinov2L14Reg,
  clip_rn50: clipRn50,
  clip_vit_b_32: clipB32,
  clip_vit_b_16: clipB16,
  clip_vit_l_14: clipL14,
} as const satisfies Record<string, BackboneDefinition>;

export type BackboneId = keyof typeof backbones;

/** Returns the backbone with this id. For an unknown id, the error suggests the closest one. */
export function backboneNamed(id: string): BackboneDefinition {
  if (!Object.hasOwn(backbones, id)) throw new UsageError(unknownName("backbone", id, Object.keys(backbones)));
  return backbones[id as BackboneId];
}

export {
  Backbone,
  type BackboneDefinition,
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  type Step,
  vectorSize,
} from "./backbone.js";
export { ClipResNet, type ClipResNetLayout } from "./clip-resnet.js";
export { ConvNeXt } from "./convnext.js";
export { DiagonalMap } from "./diagonal-map.js";
export { EfficientNet } from "./efficientnet.js";
export { LinearMap } from "./linear-map.js";
export { loadPretrained } from "./load-pretrained.js";
export { Mlp, type MlpOptions } from "./mlp.js";
export { MnistCnn } from "./mnist-cnn.js";
export { MobileNetV2 } from "./mobilenet-v2.js";
export { RegNet } from "./regnet.js";
export { ResNet } from "./resnet.js";
export { SmallCnn } from "./small-cnn.js";
export { ToyCnn } from "./toy-cnn.js";
export { type TransformerLayout, type TransformerVariant, VisionTransformer } from "./vision-transformer.js";
export { WideResNet } from "./wide-resnet.js";
