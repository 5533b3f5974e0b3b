/**
 * Backbones: networks that map an input to features, [n, width], which all other parts build on.
 *
 * A new backbone has uninitialized parameters. Call `initialize(random)`, `loadPretrained(backbone, file)` or
 * `loadStateDict(state)` before using it.
 */

import { declare } from "../definitions.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import { type BatchNormUse, foldingTogether } from "../nn/batch-norm.js";
import { Layer, type Module } from "../nn/module.js";
import type { PositionRule } from "../nn/position-embedding.js";

/** Receives the feature map of a stage, [n, channels, h, w], and returns the input of the next stage. */
export type OnStage = (map: Tensor, stage: number) => Tensor;

export abstract class Backbone extends Layer {
  /** The number of features. */
  abstract readonly width: number;

  /** The shape of one input: [channels, height, width], or [size] for vectors. */
  abstract readonly inputShape: readonly number[];

  /** The number of channels of each stage's feature map, if the backbone has stages. */
  readonly stageChannels?: readonly number[];

  /**
   * Whether all stages are feature maps [n, channels, h, w]. The stages of a transformer are tokens, [n, channels,
   * tokens, 1].
   */
  readonly stagesAreMaps: boolean = true;

  /** Returns the features of a batch, [n, width], in at least float32. */
  abstract override forward(x: Tensor): Tensor;

  /**
   * Like `forward`, but calls `onStage` with the feature map of each stage. MixStyle changes these maps and MIRO
   * records them.
   */
  stages?(x: Tensor, onStage?: OnStage): Tensor;

  /**
   * Returns the blocks in the order in which they run, for settings that depend on depth (depth.ts). The parameters
   * must be in the same order.
   */
  orderedBlocks?(): readonly Module[];

  /**
   * Converts the tensors of a published file to the names and shapes of this network. Tensors that do not affect the
   * features are removed. Other tensors that do not fit are kept, so that the loader can report them.
   */
  adopt?(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor>;

  /**
   * Returns why a file with this metadata must not be loaded although its names and shapes may fit, or undefined if it
   * may.
   */
  refuses?(metadata: Readonly<Record<string, string>>): string | undefined;
}

/** A backbone that is defined by its stages. */
export abstract class StagedBackbone extends Backbone {
  abstract override stages(x: Tensor, onStage?: OnStage): Tensor;

  forward(x: Tensor): Tensor {
    return foldingTogether(this, x, () => this.stages(x));
  }
}

/** A part of a network that maps one feature map to the next, and the index of the stage that it ends, if any. */
export interface Step {
  /** `again` is the map for a second use (`convNormTwice`). The step may return such a pair. */
  readonly forward: (map: Tensor, again: Tensor) => Tensor | readonly [map: Tensor, again: Tensor];
  readonly stage?: number;
}

/**
 * Runs steps one after the other, and frees every feature map as soon as the next one is computed. Memory then only
 * holds what the backward pass needs, and the backward pass can free it progressively. Maps that `onStage` has received
 * are not freed.
 */
export function runSteps(x: Tensor, steps: readonly Step[], onStage?: OnStage): Tensor {
  let [map, again] = [x, x];
  let shown = true;
  for (const { forward, stage } of steps) {
    const made = scope(() => forward(map, again));
    const [next, second] = "dtype" in made ? [made, made] : made;
    if (again !== map && again !== next) again.dispose();
    if (!shown && next !== map) map.dispose();
    shown = onStage !== undefined && stage !== undefined;
    map = shown ? onStage!(next, stage!) : next;
    // The gradient with respect to a map that onStage has received must include all uses of the map.
    again = shown ? map : second;
    if (shown && second !== next) second.dispose();
  }
  if (again !== map) again.dispose();
  return map;
}

/** Converts the blocks of a stage to steps. The map of the last block is the map of the stage. */
export const stageSteps = (layers: readonly (Layer & { twice?: Step["forward"] })[], stage: number): Step[] =>
  layers.map((block, i) => ({
    forward: (map, again) => block.twice?.(map, again) ?? block.forward(map),
    stage: i === layers.length - 1 ? stage : undefined,
  }));

/**
 * Properties that differ between publishers of the same network and are not stored in its tensors. Missing properties
 * are those of the backbone.
 */
export interface NetworkVariant {
  /** The epsilon of the layer norms. */
  readonly eps?: number;
  readonly gelu?: GeluKind;
  /** The method for resizing position embeddings to other image sizes. */
  readonly positions?: PositionRule;
}

/** The options of backbones. Each backbone only reads the ones that apply to it. */
export interface BackboneOptions extends BatchNormUse {
  /** The shape of one input: [channels, height, width], or [size] for vectors. */
  inputShape?: readonly number[];
  /** The number of channels of pictures. Height and width are then the defaults of the backbone. */
  inputChannels?: number;
  /** The dropout probability: on the features (ResNet, MobileNetV2), or after each hidden layer (MLP). */
  dropout?: number;
  /**
   * The probability of dropping a sample's residual branch of the last block in training. It decreases towards the
   * first block. The default is 0 (EfficientNet, ConvNeXt, vision transformers).
   */
  stochasticDepth?: number;
  /** The width of the hidden layers (MLP) or of the features (linear map). */
  width?: number;
  /** The number of linear layers (MLP). */
  depth?: number;
  /** Choices of the publisher of the weights that are not stored in the file. */
  variant?: NetworkVariant;
}

/** A backbone that is available by name. */
export interface BackboneDefinition<B extends Backbone = Backbone> {
  /** The id on the command line. */
  readonly id: string;
  readonly title: string;
  readonly paper: string;
  /** A description of where to get pretrained weights; absent if there are none. */
  readonly weights?: string;
  /** The number of features, and of parameters for pictures with three channels; absent if they depend on options. */
  readonly width?: number;
  readonly parameters?: number;
  /** The number of blocks, if the backbone has `orderedBlocks`. */
  readonly blocks?: number;
  /** Whether the backbone supports stochastic depth. */
  readonly stochasticDepth?: boolean;
  /**
   * Whether training on a CPU is faster in the channels-last memory format (layout.ts). The default is false. `nudge
   * bench step` measures it.
   */
  readonly channelsLastOnCpu?: boolean;
  /** The same for training on a GPU in float32. In bfloat16, all backbones use that format there. */
  readonly channelsLastOnGpu?: boolean;
  build(options?: BackboneOptions): B;
}

/** Declares a backbone. It also needs an entry in `index.ts`. */
export function defineBackbone<B extends Backbone>(definition: BackboneDefinition<B>): BackboneDefinition<B> {
  return declare("backbone", definition);
}

/**
 * Returns the input shape of a backbone for pictures: the given one, or the default with another number of channels.
 */
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

/** Returns the number of elements in one input of a backbone for vectors. Pictures are flattened. */
export function vectorSize(id: string, { inputShape }: BackboneOptions): number {
  if (inputShape === undefined || !inputShape.every((size) => Number.isInteger(size) && size > 0)) {
    throw new UsageError(
      `backbone ${id}: expected inputShape, such as [20] for vectors of 20, got [${inputShape ?? ""}]`,
    );
  }
  return inputShape.reduce((product, size) => product * size, 1);
}
