/**
 * Backbones: networks from an input to the features that everything else is built on, [n, width].
 *
 * A backbone is made without values. Give it some with `initialize(random)`, `loadPretrained(backbone, file)` or
 * `loadStateDict(state)` before it is used.
 */

import { declare } from "../definitions.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import type { BatchNormUse } from "../nn/batch-norm.js";
import { Layer, type Module } from "../nn/module.js";
import type { PositionRule } from "../nn/position-embedding.js";

/** Sees a stage's map [n, channels, h, w] and returns what the next stage is to be given: the map, or another. */
export type OnStage = (map: Tensor, stage: number) => Tensor;

export abstract class Backbone extends Layer {
  /** The number of features. */
  abstract readonly width: number;

  /** The sizes of one input: [channels, height, width], or [numbers]. */
  abstract readonly inputShape: readonly number[];

  /** The channels of each stage's map, where there are stages. */
  readonly stageChannels?: readonly number[];

  /** Whether all stages are maps of pixels [n, channels, h, w]; those of a transformer are tokens, [n, channels, tokens, 1]. */
  readonly stagesAreMaps: boolean = true;

  /** The features of a batch, [n, width], in float32 at least. */
  abstract override forward(x: Tensor): Tensor;

  /** The same, with a look at the maps between stages and a hand in them: MixStyle changes them, MIRO records them. */
  stages?(x: Tensor, onStage?: OnStage): Tensor;

  /** The blocks in the order they run, for settings that go by depth (depth.ts); parameters must come in that order too. */
  orderedBlocks?(): readonly Module[];

  /**
   * The tensors of a published file as this network has them, where files come under other names or in other shapes. What the
   * features do not depend on is removed; what does not fit is kept, for the loader to report.
   */
  adopt?(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor>;
}

/** A part of a network from one map to the next, and the stage that ends with it, if one does. */
export interface Step {
  readonly forward: (map: Tensor) => Tensor;
  readonly stage?: number;
}

/**
 * Runs steps one after the other, and lets go of every map as soon as the next one is made, so that memory holds only
 * what the backward pass needs, and the backward pass can free it as it goes. Maps that `onStage` has seen are left alone.
 */
export function runSteps(x: Tensor, steps: readonly Step[], onStage?: OnStage): Tensor {
  let map = x;
  let shown = true;
  for (const { forward, stage } of steps) {
    const next = scope(() => forward(map));
    if (!shown && next !== map) map.dispose();
    shown = onStage !== undefined && stage !== undefined;
    map = shown ? onStage!(next, stage!) : next;
  }
  return map;
}

/** The blocks of a stage as steps; the last one's map is the stage's. */
export const stageSteps = (layers: readonly Layer[], stage: number): Step[] =>
  layers.map((block, i) => ({
    forward: (map) => block.forward(map),
    stage: i === layers.length - 1 ? stage : undefined,
  }));

/** What differs between publishers of one network and is in no tensor of it; a backbone has its own where it is not given. */
export interface NetworkVariant {
  /** Of the layer norms. */
  readonly eps?: number;
  readonly gelu?: GeluKind;
  /** How position embeddings are resized to other picture sizes. */
  readonly positions?: PositionRule;
}

/** The options of backbones; each reads those it has. */
export interface BackboneOptions extends BatchNormUse {
  /** The sizes of one input: [channels, height, width], or [numbers]. */
  inputShape?: readonly number[];
  /** For pictures, the channels alone; height and width are then the backbone's own. */
  inputChannels?: number;
  /** The probability of dropout: on the features (ResNet, MobileNetV2), or after each hidden layer (MLP). */
  dropout?: number;
  /**
   * The probability with which a sample's branch of the last block is dropped in training, and a smaller one the earlier the
   * block; none by default (EfficientNet, ConvNeXt, vision transformers).
   */
  stochasticDepth?: number;
  /** The width of the hidden layers (MLP) or of the features (linear map). */
  width?: number;
  /** The number of linear layers (MLP). */
  depth?: number;
  /** What the publisher of the weights chose and their file does not say. */
  variant?: NetworkVariant;
}

/** A backbone that can be had by name. */
export interface BackboneDefinition<B extends Backbone = Backbone> {
  /** As on the command line. */
  readonly id: string;
  readonly title: string;
  readonly paper: string;
  /** Where trained starting weights can be had, in words; absent where they are never used. */
  readonly weights?: string;
  /** The number of features, and of parameters for pictures of three channels; absent where they depend on options. */
  readonly width?: number;
  readonly parameters?: number;
  /** The number of blocks, where it has `orderedBlocks`. */
  readonly blocks?: number;
  /** Whether it has stochastic depth. */
  readonly stochasticDepth?: boolean;
  /**
   * Whether a CPU trains it faster with channels last in memory (layout.ts); no by default. `nudge bench step` measures it.
   */
  readonly channelsLastOnCpu?: boolean;
  build(options?: BackboneOptions): B;
}

/** Declares a backbone; a place in `index.ts` registers it. */
export function defineBackbone<B extends Backbone>(definition: BackboneDefinition<B>): BackboneDefinition<B> {
  return declare("backbone", definition);
}

/** The input sizes of a backbone for pictures: as given, or its own with other channels. */
export function pictureShape(
  id: string,
  { inputShape, inputChannels }: BackboneOptions,
  own: readonly [number, number, number],
): readonly [number, number, number] {
  const [channels, height, width, ...rest] = inputShape ?? [inputChannels ?? own[0], own[1], own[2]];
  if (rest.length > 0 || ![channels, height, width].every((size) => Number.isInteger(size) && size > 0)) {
    throw new UsageError(
      `backbone ${id}: expected pictures of the shape [channels, height, width], got [${inputShape ?? inputChannels}]`,
    );
  }
  if (inputChannels !== undefined && inputChannels !== channels) {
    throw new UsageError(`backbone ${id}: inputChannels ${inputChannels} contradicts inputShape [${inputShape}]`);
  }
  return [channels, height, width];
}

/** The number of numbers in one input of a backbone for vectors; pictures are laid out in a row. */
export function vectorSize(id: string, { inputShape }: BackboneOptions): number {
  if (inputShape === undefined || !inputShape.every((size) => Number.isInteger(size) && size > 0)) {
    throw new UsageError(
      `backbone ${id}: expected inputShape, such as [20] for vectors of 20, got [${inputShape ?? ""}]`,
    );
  }
  return inputShape.reduce((product, size) => product * size, 1);
}
