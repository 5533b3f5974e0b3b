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
import { unknownName } from "../closest-name.js";
import { declare } from "../definitions.js";
import type { Tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import type { Hparam, HparamValue } from "../hparams.js";
import type { Setting, SettingValue } from "./setting.js";

/** What the loop hands a regularizer at a step. */
export interface StepResult {
  /** The penultimate features of the rows of one loss, as the algorithm returned them. [rows, width] */
  features: Tensor;
  /** The logits of the same rows, where the algorithm returned them. */
  logits?: Tensor;
  /** The number of updates made before this one. */
  step: number;
  /** Takes words for the run's log, such as a route that had to be given up. */
  notice?: (message: string) => void;
  /** Inside a captured graph: nothing is read from the device, and residuals to watch are handed over here instead. */
  watch?: (residual: Tensor) => void;
}

type HparamSpecs = { readonly weight: Hparam<number> } & Readonly<Record<string, Hparam>>;
type SettingSpecs = Readonly<Record<string, Setting>>;
type HparamValues<H> = { readonly [K in keyof H]: H[K] extends Hparam<infer T> ? T : never };
type SettingValues<S> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** What a step hands `penalty`: the step's result, and the hyperparameters and settings of this regularizer. */
export type PenaltyInput<H, S> = StepResult & { readonly settings: HparamValues<H> & SettingValues<S> };

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
  /** Every hyperparameter and setting, defaults filled in: what a run records. */
  readonly settings: Readonly<Record<string, HparamValue | SettingValue>>;
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
  (options?: Partial<HparamValues<H> & SettingValues<S>>): Regularizer;
}

/** Any of them, for callers that have options from a file or the command line: they are checked when it is called. */
export interface AnyRegularizerDefinition extends RegularizerFacts {
  (options?: Readonly<Record<string, unknown>>): Regularizer;
}

/** Makes a definition; see the top of the file. */
export function defineRegularizer<const H extends HparamSpecs, const S extends SettingSpecs = Record<never, Setting>>(
  spec: RegularizerSpec<H, S>,
): RegularizerDefinition<H, S> {
  const { penalty, ...facts } = spec;
  const specs = spec.settings ?? ({} as S);
  const make = (options: Readonly<Record<string, unknown>> = {}): Regularizer => {
    const settings = resolve(spec.id, spec.hparams, specs, options);
    const weight = settings.weight as number;
    const warmup = (settings.warmup ?? 0) as number;
    const isActive = (step: number): boolean => weight > 0 && step >= warmup;
    return {
      id: spec.id,
      title: spec.title,
      settings,
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
  return declare("regularizer", Object.assign(make, { ...facts, settings: specs }));
}

/** Hyperparameters and settings with their defaults; an unknown name or a value that does not fit is a UsageError. */
function resolve(
  id: string,
  hparams: HparamSpecs,
  settings: SettingSpecs,
  options: Readonly<Record<string, unknown>>,
): Record<string, HparamValue | SettingValue> {
  const known = [...Object.keys(hparams), ...Object.keys(settings)];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownName(`setting of ${id}`, unknown, known));
  const resolved: Record<string, HparamValue | SettingValue> = {};
  for (const [name, { default: fallback }] of Object.entries(hparams)) {
    resolved[name] = readHparam(`${id} ${name}`, options[name] ?? fallback, fallback);
  }
  for (const [name, setting] of Object.entries(settings)) {
    resolved[name] = setting.read(options[name] ?? setting.default, `${id} ${name}`);
  }
  if ((resolved.weight as number) < 0)
    throw new UsageError(`${id} weight: expected a number from 0, got ${resolved.weight}`);
  return resolved;
}

/** A value of the same kind as the default, from code or as the command line's text. */
function readHparam(name: string, value: unknown, fallback: HparamValue): HparamValue {
  if (typeof fallback === "number") {
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number)) return number;
    throw new UsageError(`${name}: expected a number, got ${JSON.stringify(value) ?? String(value)}`);
  }
  if (typeof value === typeof fallback) return value as HparamValue;
  throw new UsageError(`${name}: expected a ${typeof fallback}, got ${JSON.stringify(value) ?? String(value)}`);
}

function notFinite(id: string, { features, step }: StepResult, value: number): EngineError {
  return new EngineError(
    `${id}: the penalty on the features (${features.describe()}) at step ${step} is ${value}: expected a finite number. ` +
      "Lower the learning rate or the weight, or look for bad inputs",
    id,
    [features.describe()],
  );
}
