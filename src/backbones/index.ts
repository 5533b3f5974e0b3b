/** The backbones there are; a new one is a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { BackboneDefinition } from "./backbone.js";
import { diagonalMap } from "./diagonal-map.js";
import { linearMap } from "./linear-map.js";
import { mlp } from "./mlp.js";
import { mnistCnn } from "./mnist-cnn.js";
import { mobilenetV2 } from "./mobilenet-v2.js";
import { resnet18, resnet34, resnet50, resnet101, resnet152 } from "./resnet.js";
import { smallCnn } from "./small-cnn.js";
import { toyCnn } from "./toy-cnn.js";
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
  resnet101,
  resnet152,
  mobilenet_v2: mobilenetV2,
} as const satisfies Record<string, BackboneDefinition>;

export type BackboneId = keyof typeof backbones;

/** A backbone by its id; an unknown one is an error that names the nearest. */
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
  type Step,
  vectorSize,
} from "./backbone.js";
export { DiagonalMap } from "./diagonal-map.js";
export { LinearMap } from "./linear-map.js";
export { loadPretrained } from "./load-pretrained.js";
export { Mlp, type MlpOptions } from "./mlp.js";
export { MnistCnn } from "./mnist-cnn.js";
export { MobileNetV2 } from "./mobilenet-v2.js";
export { ResNet } from "./resnet.js";
export { SmallCnn } from "./small-cnn.js";
export { ToyCnn } from "./toy-cnn.js";
export { WideResNet } from "./wide-resnet.js";
