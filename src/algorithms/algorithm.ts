/**
 * The contract of an algorithm. A file holds all there is to know of one: paper, hyperparameters with search ranges, the
 * step. The loop (training/learner.ts) does the rest: penalties, backward, optimizer, freeing tensors, logs.
 *
 * There are two kinds. Most return a loss from `step`, and the loop minimises it with the penalties added:
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
 * One with several optimizers or inner steps has `update` instead: it owns its backward passes, makes its optimizers with
 * `adam`, and adds `ctx.penalty(features)` once to each loss whose gradient updates the backbone.
 *
 * State lives in modules: a StateBuffer is saved, resumed, moved to the device and freed with the rest. How many updates came
 * before is `ctx.step`; no algorithm counts them itself. Random draws come from `ctx.draw`, keyed by step and name, so that
 * a resumed run draws the same and a test can put its own numbers in their place.
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

/** A batch: one minibatch a training domain, in the order of the domains. */
export interface Batch {
  readonly domains: readonly Minibatch[];
  /** All samples in that order. */
  readonly x: Tensor;
  readonly y: Tensor;
  /** The numbers in `y`, if the host knows them: then nothing has to wait for a GPU to read them. */
  readonly labels?: readonly number[];
}

/** What numbers are computed from before an update; see `StepContext.prepared`. */
export interface HostInputs {
  readonly draw: Draws;
  /** The classes of the batch's rows. */
  readonly labels: readonly number[];
}

/** The labels of the rows of a loss, for penalties that depend on them. */
export interface RowLabels {
  readonly y: Tensor;
  /** The training domain of each row, by its position: int64 [rows]. A function, since few penalties need it. */
  readonly domains?: () => Tensor;
}

/** The shared hyperparameters that an algorithm may read. */
export interface SharedValues {
  readonly lr: number;
  readonly weightDecay: number;
  /** Samples of each training domain in a batch. */
  readonly batchSize: number;
  readonly classBalanced: boolean;
}

/** What an algorithm is built from. */
export interface BuildContext<H = Readonly<Record<string, HparamValue>>> {
  readonly backbone: Backbone;
  /** Linear, from the backbone's width to the classes. */
  readonly classifier: Layer;
  readonly classes: number;
  /** How many training domains there are. */
  readonly domains: number;
  /** Its own hyperparameters and settings, and the shared ones it may read. */
  readonly hparams: H & SharedValues;
  /** Another backbone with the same starting values: MIRO's frozen one, mDSDI's second. */
  copyBackbone(): Backbone;
  /** A classifier as the run's are, for other sizes; its values are drawn when the algorithm has been built. */
  makeClassifier(inputs: number, outputs: number): Layer;
  /**
   * The run's optimizer, Adam by default, with its learning rate and weight decay where `settings` has no others; betas count for
   * Adam only. For algorithms with `update`.
   */
  adam(parameters: Parameters<AdamSettings>, settings?: Partial<AdamSettings>): Optimizer;
}

/** What a step is given besides its batch. */
export interface StepContext {
  /** Updates made before this one. */
  readonly step: number;
  /**
   * A choice that goes by the step's number: `schedule((step) => step >= annealSteps)`. What chooses this way, and does not
   * read `step`, can be captured as a CUDA graph: there is one for each outcome.
   */
  schedule<T extends number | boolean>(at: (step: number) => T): T;
  readonly draw: Draws;
  /**
   * Numbers that are computed on the host from random draws and the labels of the batch, such as which samples are paired:
   * float64 on the device of the batch. In a captured step they are computed again before each replay, from the draws and labels
   * of that step; so `compute` must read nothing else that changes from step to step, and its draws have names of their own.
   */
  prepared(shape: readonly number[], compute: (host: HostInputs) => ArrayLike<number>): Tensor;
  /**
   * The loss itself, for algorithms with `update` to call before backward: on the CPU one that is not finite is an error there,
   * before it has changed a weight (the loop does this for what `step` returns). On a GPU the host would have to wait for
   * the number, so there it is found when it is logged. An update of several steps may have made some of them.
   */
  checked(loss: Tensor): Tensor;
  /**
   * The regularizers' terms on these features, to be added to a loss; null when there is none now. If there is a row for each sample of
   * the batch, `labels` are the batch's by default; pass null for rows without labels of their own, such as mixtures.
   */
  penalty(features: Tensor, logits?: Tensor, labels?: RowLabels | null): Tensor | null;
}

/** What a step returns: a scalar loss, what the penalties are taken of, and numbers for the log. */
export interface StepOutcome {
  readonly loss: Tensor;
  /** The penultimate features of the rows of this loss. Null where the algorithm added the penalties itself. */
  readonly features: Tensor | null;
  readonly logits?: Tensor;
  /** The labels of these rows, as for `StepContext.penalty`. */
  readonly labels?: RowLabels | null;
  /** Scalars under the reference's names; by default `loss` is the total. */
  readonly logs?: Readonly<Record<string, Tensor | number>>;
  /**
   * Replace the optimizer by a new one before this update, as VREx and IRM do when their penalty sets in; with `lr`, at another
   * learning rate from here on.
   */
  readonly resetOptimizer?: boolean | { readonly lr: number };
}

interface BuiltBase {
  /** Everything with parameters or buffers, by the name it is saved under. */
  readonly modules: Readonly<Record<string, Module>>;
  /** Logits, in evaluation mode. */
  predict(x: Tensor): Tensor;
  /** The features that the head reads, where they are not the backbone's own; measures of features are taken of these. */
  features?(x: Tensor): Tensor;
}

/** An algorithm whose loss the loop minimises. */
export interface LossAlgorithm extends BuiltBase {
  step(batch: Batch, ctx: StepContext): StepOutcome;
  /** The parameters that the optimizer of the loop trains (default: all parameters of all modules). */
  readonly parameters?: Parameters<AdamSettings>;
  /** Called after backward and before the optimizer's step; AND-mask changes gradients here. */
  afterBackward?(batch: Batch, ctx: StepContext): void;
  readonly update?: undefined;
}

/** An algorithm that owns its backward passes and optimizers. */
export interface UpdateAlgorithm extends BuiltBase {
  /** Makes one update and returns scalars for the log. */
  update(batch: Batch, ctx: StepContext): Readonly<Record<string, Tensor | number>>;
  /** By the name they are saved under. */
  readonly optimizers: Readonly<Record<string, Optimizer>>;
  readonly step?: undefined;
}

export type BuiltAlgorithm = LossAlgorithm | UpdateAlgorithm;

type HparamSpecs = Readonly<Record<string, Hparam>>;

/** The values of an algorithm's hyperparameters. */
export type HparamsOf<H> = { readonly [K in keyof H]: H[K] extends Hparam<infer T> ? T : never };

/** All there is to know of an algorithm. */
export interface AlgorithmDefinition<H extends HparamSpecs = HparamSpecs> {
  /** The file's name. */
  readonly id: string;
  /** As the paper's tables spell it. */
  readonly title: string;
  readonly paper: string;
  /** Whether the update uses which domain a sample came from for more than balanced batches. */
  readonly needsDomains: boolean;
  /** Where it needs them: the settings of the variant that does not, if there is one. */
  readonly domainFree?: Readonly<Record<string, HparamValue>>;
  /** The minimum number of training domains (default: 1). */
  readonly minDomains?: number;
  /** Searched hyperparameters first; a `variant` selects one of the forms a method has, and is not searched. */
  readonly hparams: H;
  /** Those of `hparams` whose default and range depend on the dataset's size; `hparams` has the large ones'. */
  readonly hparamsBySize?: Readonly<Record<DatasetSize, HparamSpecs>>;
  /** The same for single datasets, by their ids; they come before those by size. */
  readonly hparamsByDataset?: Readonly<Record<string, HparamSpecs>>;
  /** Shared hyperparameters it replaces. */
  readonly overrides?: HparamOverrides;
  /** What its backbone must have: intermediate maps of pixels for MixStyle, those or tokens for MIRO, one more input channel for ARM. */
  readonly backbone?: { readonly stages?: true | "maps"; readonly extraChannels?: number };
  build(context: BuildContext<HparamsOf<H>>): BuiltAlgorithm;
}

/** Declares an algorithm, its hyperparameters typed by their defaults. */
export function defineAlgorithm<const H extends HparamSpecs>(
  definition: AlgorithmDefinition<H>,
): AlgorithmDefinition<H> {
  return declare("algorithm", definition);
}

/** An algorithm's own hyperparameters on datasets of a size, or on one of them. */
export function hparamsOn(
  size: DatasetSize,
  { hparams, hparamsBySize, hparamsByDataset }: AlgorithmDefinition,
  dataset?: string,
): HparamSpecs {
  return { ...hparams, ...hparamsBySize?.[size], ...(dataset !== undefined && hparamsByDataset?.[dataset]) };
}
