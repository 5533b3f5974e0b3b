/**
 * The interface of an algorithm. Each file contains one algorithm completely: the paper, the hyperparameters with their
 * search ranges, and the training step. The training loop (training/learner.ts) does the rest: penalties, backward
 * pass, optimizer, freeing tensors, logs.
 *
 * There are two kinds. Most algorithms return a loss from `step`, and the loop adds the penalties and minimizes it:
 *
 *     build: ({ backbone, classifier }) => ({
 *       modules: { backbone, classifier },
 *       step({ x, y }) {
 *         const features = backbone.forward(x);
 *         const logits = classifier.forward(features);
 *         return { loss: crossEntropy(logits, y), features, logits };
 *       },
 *       predict: (x) => classifier.forward(backbone.forward(x)),
 *     })
 *
 * An algorithm with several optimizers or inner steps has `update` instead. It runs its own backward passes, creates
 * its optimizers with `adam`, and adds `ctx.penalty(features)` once to each loss whose gradient updates the backbone.
 *
 * Keep state in modules: a StateBuffer is saved, restored, moved to the device and freed with its module. The number of
 * previous updates is `ctx.step`, so no algorithm counts them. Random numbers come from `ctx.draw` and depend on the
 * step and a name. A resumed run therefore draws the same numbers, and tests can replace them.
 */

import type { Backbone } from "../backbones/index.js";
import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import type { Hparam, HparamValue } from "../hparams.js";
import type { Layer, Module } from "../nn/index.js";
import type { AdamSettings, Optimizer, Parameters } from "../optim/index.js";
import type { Draws } from "./draws.js";
import type { DatasetSize, HparamOverrides } from "./shared-hparams.js";

/** The samples of one training domain in a batch. */
export interface Minibatch {
  readonly x: Tensor;
  readonly y: Tensor;
}

/** A batch, with one minibatch for each training domain, in the order of the domains. */
export interface Batch {
  readonly domains: readonly Minibatch[];
  /** All samples, concatenated in that order. */
  readonly x: Tensor;
  readonly y: Tensor;
  /** The values of `y`, if the host knows them. They avoid waiting for a GPU to read them. */
  readonly labels?: readonly number[];
}

/** The inputs for numbers that are computed before an update; see `StepContext.prepared`. */
export interface HostInputs {
  readonly draw: Draws;
  /** The class of each row of the batch. */
  readonly labels: readonly number[];
}

/** The labels of the rows of a loss, for penalties that depend on them. */
export interface RowLabels {
  readonly y: Tensor;
  /** Returns the index of each row's training domain, int64 [rows]. It is a function because few penalties need it. */
  readonly domains?: () => Tensor;
}

/** The shared hyperparameters that an algorithm may read. */
export interface SharedValues {
  readonly lr: number;
  readonly weightDecay: number;
  /** The number of samples per training domain in a batch. */
  readonly batchSize: number;
  readonly classBalanced: boolean;
}

/** The arguments for building an algorithm. */
export interface BuildContext<H = Readonly<Record<string, HparamValue>>> {
  readonly backbone: Backbone;
  /** A linear layer from the backbone's width to the number of classes. */
  readonly classifier: Layer;
  readonly classes: number;
  /** The number of training domains. */
  readonly domains: number;
  /** The algorithm's own hyperparameters and settings, and the shared ones that it may read. */
  readonly hparams: H & SharedValues;
  /** Returns another backbone with the same initial values, for example MIRO's frozen one or mDSDI's second one. */
  copyBackbone(): Backbone;
  /**
   * Returns a classifier of the same kind with other sizes. Its initial values are drawn after the algorithm has been
   * built.
   */
  makeClassifier(inputs: number, outputs: number): Layer;
  /**
   * Creates the run's optimizer, which is Adam by default. Learning rate and weight decay are those of the run if
   * `settings` does not specify them. Only Adam uses the betas. For algorithms with `update`.
   */
  adam(parameters: Parameters<AdamSettings>, settings?: Partial<AdamSettings>): Optimizer;
}

/** The arguments of a training step besides the batch. */
export interface StepContext {
  /** The number of updates before this one. */
  readonly step: number;
  /**
   * Returns a value that depends on the step: `schedule((step) => step >= annealSteps)`. A training step that uses it
   * instead of `step` can be captured in CUDA graphs, one for each returned value.
   */
  schedule<T extends number | boolean>(at: (step: number) => T): T;
  readonly draw: Draws;
  /**
   * Returns numbers that the host computes from random draws and the labels of the batch, such as the indices of paired
   * samples, as a float64 tensor on the device of the batch. In a captured step, they are computed again before each
   * replay from the draws and labels of that step. `compute` must therefore read nothing else that changes between
   * steps, and must use draw names of its own.
   */
  prepared(shape: readonly number[], compute: (host: HostInputs) => ArrayLike<number>): Tensor;
  /**
   * Returns the loss unchanged. Algorithms with `update` call it before the backward pass; the loop does this for
   * losses from `step`. On the CPU it throws an error if the loss is not finite, before any weight changes. On a GPU
   * the host would have to wait for the number, so the error is detected when the loss is logged. If an update has
   * several optimizer steps, some of them may already have been taken.
   */
  checked(loss: Tensor): Tensor;
  /**
   * Returns the sum of the regularizers' penalties on these features, to be added to a loss, or null if no regularizer
   * is active. If there is one row per sample of the batch, `labels` defaults to the labels of the batch. Pass null for
   * rows without a label, such as mixtures.
   */
  penalty(features: Tensor, logits?: Tensor, labels?: RowLabels | null): Tensor | null;
}

/** The result of a step: a scalar loss, the inputs of the penalties, and numbers for the log. */
export interface StepOutcome {
  readonly loss: Tensor;
  /** The penultimate features of the rows of this loss. Null if the algorithm has added the penalties itself. */
  readonly features: Tensor | null;
  readonly logits?: Tensor;
  /** The labels of these rows, as in `StepContext.penalty`. */
  readonly labels?: RowLabels | null;
  /** Scalars with the names that DomainBed uses. By default, `loss` is the total loss. */
  readonly logs?: Readonly<Record<string, Tensor | number>>;
  /**
   * Whether to replace the optimizer by a new one before this update, as VREx and IRM do when their penalty starts.
   * With `lr`, the new optimizer uses this learning rate.
   */
  readonly resetOptimizer?: boolean | { readonly lr: number };
}

interface BuiltBase {
  /** All modules with parameters or buffers, by the name used in saved files. */
  readonly modules: Readonly<Record<string, Module>>;
  /** Returns logits. The modules are in evaluation mode. */
  predict(x: Tensor): Tensor;
  /** Returns the input features of the classifier, if they are not the backbone's output. Feature analyses use them. */
  features?(x: Tensor): Tensor;
}

/** An algorithm that returns a loss for the training loop to minimize. */
export interface LossAlgorithm extends BuiltBase {
  step(batch: Batch, ctx: StepContext): StepOutcome;
  /** The parameters for the optimizer of the loop. The default is all parameters of all modules. */
  readonly parameters?: Parameters<AdamSettings>;
  /** Called after the backward pass and before the optimizer step. It may change gradients. */
  afterBackward?(batch: Batch, ctx: StepContext): void;
  readonly update?: undefined;
}

/** An algorithm that runs its own backward passes and optimizers. */
export interface UpdateAlgorithm extends BuiltBase {
  /** Makes one update and returns scalars for the log. */
  update(batch: Batch, ctx: StepContext): Readonly<Record<string, Tensor | number>>;
  /** The optimizers by the name used in saved files. */
  readonly optimizers: Readonly<Record<string, Optimizer>>;
  readonly step?: undefined;
}

export type BuiltAlgorithm = LossAlgorithm | UpdateAlgorithm;

type HparamSpecs = Readonly<Record<string, Hparam>>;

/** The values of an algorithm's hyperparameters. */
export type HparamsOf<H> = { readonly [K in keyof H]: H[K] extends Hparam<infer T> ? T : never };

/** The definition of an algorithm. */
export interface AlgorithmDefinition<H extends HparamSpecs = HparamSpecs> {
  /** The name of the file. */
  readonly id: string;
  /** The spelling in the paper's tables. */
  readonly title: string;
  readonly paper: string;
  /** Whether the update uses the domain of each sample for more than balanced batches. */
  readonly needsDomains: boolean;
  /** If it uses them: the settings of a variant that does not, if there is one. */
  readonly domainFree?: Readonly<Record<string, HparamValue>>;
  /** The minimum number of training domains. The default is 1. */
  readonly minDomains?: number;
  /** The searched hyperparameters come first. A `variant` selects one form of the method and is not searched. */
  readonly hparams: H;
  /**
   * Hyperparameters whose default and range depend on the dataset size. `hparams` contains those for large datasets.
   */
  readonly hparamsBySize?: Readonly<Record<DatasetSize, HparamSpecs>>;
  /** Hyperparameters for single datasets, by dataset id. They override those by size. */
  readonly hparamsByDataset?: Readonly<Record<string, HparamSpecs>>;
  /** Shared hyperparameters that the algorithm overrides. */
  readonly overrides?: HparamOverrides;
  /**
   * Shared hyperparameters that the algorithm does not use, each with its own ones that take their place, if any:
   * `{ lr: ["lrG", "lrD"] }`. Setting one of them explicitly is an error.
   */
  readonly unused?: Readonly<Record<string, readonly string[]>>;
  /**
   * Requirements for the backbone: feature maps of intermediate stages for MixStyle, feature maps or tokens for MIRO,
   * one more input channel for ARM.
   */
  readonly backbone?: { readonly stages?: true | "maps"; readonly extraChannels?: number };
  /**
   * Whether the prediction for a sample depends on the other samples of its batch, so that a batch must not be padded. By
   * default, it does if the backbone has additional input channels.
   */
  predictsByBatch?(hparams: HparamsOf<H>): boolean;
  build(context: BuildContext<HparamsOf<H>>): BuiltAlgorithm;
}

/** Declares an algorithm. The defaults determine the types of the hyperparameters. */
export function defineAlgorithm<const H extends HparamSpecs>(
  definition: AlgorithmDefinition<H>,
): AlgorithmDefinition<H> {
  return declare("algorithm", definition);
}

/** Whether predictions of an algorithm with these hyperparameters depend on the batch. */
export const predictsByBatch = (
  { predictsByBatch: depends, backbone }: AlgorithmDefinition,
  hparams: object,
): boolean => depends?.(hparams as HparamsOf<HparamSpecs>) ?? (backbone?.extraChannels ?? 0) > 0;

/** Returns the algorithm's own hyperparameters for a dataset size or for a specific dataset. */
export function hparamsOn(
  size: DatasetSize,
  { hparams, hparamsBySize, hparamsByDataset }: AlgorithmDefinition,
  dataset?: string,
): HparamSpecs {
  return { ...hparams, ...hparamsBySize?.[size], ...(dataset !== undefined && hparamsByDataset?.[dataset]) };
}
