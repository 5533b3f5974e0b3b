/**
 * The interface of a regularizer: a penalty on the result of a training step, which works with any algorithm.
 *
 *     export const nuclearNorm = defineRegularizer({ id: "nuclear-norm", …, penalty: ({ features }) => … });
 *     const regularizer = nuclearNorm({ weight: 0.01 }); // the training loop adds regularizer.term(…) to the loss
 *
 * A definition's `penalty` returns the unweighted penalty. The weight, the warm-up and the check for NaN are the same
 * for all regularizers, so this file implements them. Every regularizer has a hyperparameter `weight`. If it has a
 * setting `warmup`, it is inactive for that many steps.
 */

import type { HparamOverrides } from "../algorithms/shared-hparams.js";
import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import type { Hparam, HparamValue } from "../hparams.js";
import { type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";

/** The input of a regularizer at a training step. */
export interface StepResult {
  /** The penultimate features of the rows of one loss, as the algorithm returned them. [rows, width] */
  features: Tensor;
  /** The logits of the same rows, if the algorithm returned them. */
  logits?: Tensor;
  /** The labels of the same rows, int64 [rows]. Missing if rows have no single label, as in Mixup. */
  y?: Tensor;
  /**
   * Returns the index of each row's training domain, int64 [rows]. Missing if the rows are not those of the minibatch.
   */
  domains?: () => Tensor;
  /** Returns the current and the initial weights, for penalties on them. They are only computed on request. */
  weights?: () => TrainedWeights;
  /** The number of updates before this one. */
  step: number;
  /** Writes a message to the run's log, for example that a fallback was used. */
  notice?: (message: string) => void;
  /**
   * Present inside a captured graph, where nothing can be read from the device. Receives the residuals that should be
   * checked later.
   */
  watch?: (residual: Tensor) => void;
}

/** The trainable parameters. */
export interface TrainedWeights {
  /** The backbone's parameters, each with its initial value. */
  readonly backbone: readonly { readonly now: Tensor; readonly start: Tensor }[];
  readonly head: readonly Tensor[];
}

type HparamSpecs = { readonly weight: Hparam<number> } & Readonly<Record<string, Hparam>>;
type SettingSpecs = Readonly<Record<string, OptionWithDefault<HparamValue>>>;

/** The input of `penalty`: the result of the step, and the hyperparameters and settings of this regularizer. */
export type PenaltyInput<H, S> = StepResult & { readonly settings: ValuesOf<H> & ValuesOf<S> };

/** The argument of `defineRegularizer`. */
export interface RegularizerSpec<H extends HparamSpecs, S extends SettingSpecs> {
  /** The name of the file. */
  id: string;
  /** The paper's spelling. It is also the suffix in names such as `ERM-NU`. */
  title: string;
  paper: string;
  hparams: H;
  settings?: S;
  /** Shared hyperparameters that this regularizer overrides, by the size of the dataset. */
  overrides?: HparamOverrides;
  /** Returns the penalty as a scalar, without its weight. */
  penalty(input: PenaltyInput<H, S>): Tensor;
}

/** A regularizer with its hyperparameters and settings, ready for a run. */
export interface Regularizer {
  readonly id: string;
  readonly title: string;
  /** The definition that `defineRegularizer` returned. */
  readonly definition: { readonly id: string; readonly title: string };
  /** Every hyperparameter and setting, including defaults. A run records them. */
  readonly settings: Readonly<Record<string, HparamValue>>;
  /** The hyperparameters and settings that the caller specified. */
  readonly given: Readonly<Record<string, HparamValue>>;
  /** Returns true if the regularizer adds a penalty at this step. */
  isActive(step: number): boolean;
  /** Returns weight · penalty, a scalar to add to the loss, or null while the regularizer is inactive. */
  term(result: StepResult): Tensor | null;
}

/** The properties of a definition. */
export interface RegularizerFacts<H extends HparamSpecs = HparamSpecs, S extends SettingSpecs = SettingSpecs>
  extends Readonly<Omit<RegularizerSpec<H, S>, "penalty" | "settings">> {
  readonly settings: S;
}

/** A regularizer's definition. Call it to create a regularizer: `nuclearNorm({ weight: 0.01 })`. */
export interface RegularizerDefinition<H extends HparamSpecs, S extends SettingSpecs> extends RegularizerFacts<H, S> {
  (options?: Partial<ValuesOf<H> & ValuesOf<S>>): Regularizer;
}

/** Any definition, for callers that read options from a file or the command line. The call validates them. */
export interface AnyRegularizerDefinition extends RegularizerFacts {
  (options?: Readonly<Record<string, unknown>>): Regularizer;
}

/** Creates a definition. The top of this file has an example. */
export function defineRegularizer<const H extends HparamSpecs, const S extends SettingSpecs = Record<never, never>>(
  spec: RegularizerSpec<H, S>,
): RegularizerDefinition<H, S> {
  const { penalty, ...facts } = spec;
  const specs = spec.settings ?? ({} as S);
  const make = (options: Readonly<Record<string, unknown>> = {}): Regularizer => {
    const declared: SettingSpecs = { ...spec.hparams, ...specs };
    const settings = readOptions(spec.id, declared, options);
    if ((settings.weight as number) < 0)
      throw new UsageError(`${spec.id}.weight: expected a number from 0, got ${settings.weight}`);
    const weight = settings.weight as number;
    const warmup = (settings.warmup ?? 0) as number;
    const isActive = (step: number): boolean => weight > 0 && step >= warmup;
    return {
      id: spec.id,
      title: spec.title,
      definition,
      settings,
      given: Object.fromEntries(Object.entries(settings).filter(([name]) => options[name] !== undefined)),
      isActive,
      term(result) {
        if (!isActive(result.step)) return null;
        const term = penalty({ ...result, settings: settings as PenaltyInput<H, S>["settings"] }).mul(weight);
        // On a GPU, reading a number makes the host wait. There the training loop detects a loss that is not finite
        // when it logs it.
        if (term.device === "cpu" && !Number.isFinite(term.item())) throw notFinite(spec.id, result, term.item());
        return term;
      },
    };
  };
  const definition = declare("regularizer", Object.assign(make, { ...facts, settings: specs }), spec);
  return definition;
}

function notFinite(id: string, { features, step }: StepResult, value: number): EngineError {
  return new EngineError(
    `${id}: the penalty on the features (${features.describe()}) at step ${step} is ${value}: expected a finite number. ` +
      "Lower the learning rate or the weight, or look for bad inputs",
    id,
    [features.describe()],
  );
}
