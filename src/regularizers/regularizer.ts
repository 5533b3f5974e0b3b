/**
 * The contract of a regularizer: a penalty on what a step returned, so that it goes on top of any algorithm.
 *
 *     export const nuclearNorm = defineRegularizer({ id: "nuclear-norm", …, penalty: ({ features }) => … });
 *     const regularizer = nuclearNorm({ weight: 0.01 }); // the loop adds regularizer.term(…) to the loss
 *
 * A definition's `penalty` returns the penalty itself; the weight, the warm-up and the check for NaN are the same for all of
 * them and done here. Every regularizer has a hyperparameter `weight`; one that has a setting
 * `warmup` is off for that many steps.
 */

import type { HparamOverrides } from "../algorithms/shared-hparams.js";
import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import type { Hparam, HparamValue } from "../hparams.js";
import { type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";

/** What the loop hands a regularizer at a step. */
export interface StepResult {
  /** The penultimate features of the rows of one loss, as the algorithm returned them. [rows, width] */
  features: Tensor;
  /** The logits of the same rows, where the algorithm returned them. */
  logits?: Tensor;
  /** The labels of the same rows, int64 [rows]; missing where a row has none of its own, as in Mixup. */
  y?: Tensor;
  /** The training domain of each row, by its position: int64 [rows]; missing where rows are not those of the batch. */
  domains?: () => Tensor;
  /** The weights and where they started, for penalties on them; made when asked for. */
  weights?: () => TrainedWeights;
  /** The number of updates made before this one. */
  step: number;
  /** Takes words for the run's log, such as a route that had to be given up. */
  notice?: (message: string) => void;
  /** Inside a captured graph: nothing is read from the device, and residuals to watch are handed over here instead. */
  watch?: (residual: Tensor) => void;
}

/** The parameters that are trained. */
export interface TrainedWeights {
  /** The backbone's, each with the value it started from. */
  readonly backbone: readonly { readonly now: Tensor; readonly start: Tensor }[];
  readonly head: readonly Tensor[];
}

type HparamSpecs = { readonly weight: Hparam<number> } & Readonly<Record<string, Hparam>>;
type SettingSpecs = Readonly<Record<string, OptionWithDefault<HparamValue>>>;

/** What a step hands `penalty`: the step's result, and the hyperparameters and settings of this regularizer. */
export type PenaltyInput<H, S> = StepResult & { readonly settings: ValuesOf<H> & ValuesOf<S> };

/** What `defineRegularizer` takes. */
export interface RegularizerSpec<H extends HparamSpecs, S extends SettingSpecs> {
  /** The file's name. */
  id: string;
  /** As papers spell it; also its suffix in names such as `ERM-NU`. */
  title: string;
  paper: string;
  hparams: H;
  settings?: S;
  /** Shared hyperparameters that it replaces, by the size of the dataset. */
  overrides?: HparamOverrides;
  /** The penalty, a scalar, without its weight. */
  penalty(input: PenaltyInput<H, S>): Tensor;
}

/** A regularizer with its hyperparameters and settings, ready for a run. */
export interface Regularizer {
  readonly id: string;
  readonly title: string;
  /** What `defineRegularizer` returned. */
  readonly definition: { readonly id: string; readonly title: string };
  /** Every hyperparameter and setting, defaults filled in: what a run records. */
  readonly settings: Readonly<Record<string, HparamValue>>;
  /** Those of them that were given, and not left at their defaults. */
  readonly given: Readonly<Record<string, HparamValue>>;
  /** Whether it adds anything at a step. */
  isActive(step: number): boolean;
  /** weight · penalty, a scalar to add to the loss; null while it is off. */
  term(result: StepResult): Tensor | null;
}

/** What a definition says of itself. */
export interface RegularizerFacts<H extends HparamSpecs = HparamSpecs, S extends SettingSpecs = SettingSpecs>
  extends Readonly<Omit<RegularizerSpec<H, S>, "penalty" | "settings">> {
  readonly settings: S;
}

/** A regularizer's definition; call it to have one: `nuclearNorm({ weight: 0.01 })`. */
export interface RegularizerDefinition<H extends HparamSpecs, S extends SettingSpecs> extends RegularizerFacts<H, S> {
  (options?: Partial<ValuesOf<H> & ValuesOf<S>>): Regularizer;
}

/** Any of them, for callers that have options from a file or the command line: they are checked when it is called. */
export interface AnyRegularizerDefinition extends RegularizerFacts {
  (options?: Readonly<Record<string, unknown>>): Regularizer;
}

/** Makes a definition; see the top of the file. */
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
        // On a GPU reading a number makes the host wait: there the loop finds a loss that is not finite when it logs it.
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
