/**
 * A run as selection uses it: the held-out domains, the seeds, and the accuracies of one model at each evaluation. Runs
 * of this project, of DomainBed and of SWAD's descendants are all converted to this form.
 */

import { type FixedSettings, fixedText } from "./fixed-settings.js";
import { ACCURACY, type RunRecord } from "./record.js";
import type { SettingScalar } from "./run.js";

/** The accuracies on the splits of one domain, as fractions. Splits that were not evaluated are missing. */
export interface DomainAccuracy {
  readonly in?: number;
  readonly out?: number;
}

/** The accuracies of one model at one step. */
export interface StepEvaluation {
  readonly step: number;
  readonly accuracy: ReadonlyMap<string, DomainAccuracy>;
}

/** The method, as far as tables distinguish it: one row. */
export interface Method {
  /** Its id, or its name in another testbed. */
  readonly algorithm: string;
  /** Ids in the given order. */
  readonly regularizers: readonly string[];
  /** `current`, or the averaging method whose weights were evaluated. */
  readonly model: string;
  /** Other explicit settings; empty if all are defaults of the protocol. Runs with different values do not compete. */
  readonly fixed: FixedSettings;
}

export interface EvaluatedRun {
  /** The folder or file of the run, for messages. */
  readonly source: string;
  readonly format: "nudge" | "domainbed" | "swad";
  readonly dataset: string;
  /** The domains of the run, in the dataset's order. */
  readonly domains: readonly string[];
  /** The domains of the dataset, if some are not used because a related one is held out. */
  readonly allDomains?: readonly string[];
  /** The held-out ones: one, or two for leave-one-domain-out cross-validation. */
  readonly testDomains: readonly string[];
  readonly method: Method;
  readonly trialSeed: number;
  readonly hparamsSeed: number;
  /** The hyperparameters of a run of another testbed, by its names. Those of NUDGE are in the settings of the run. */
  readonly hparams?: Readonly<Record<string, SettingScalar>>;
  /** For a run of another testbed: the arguments that its numbers depend on. */
  readonly arguments?: Readonly<Record<string, SettingScalar>>;
  /** For a row of chosen runs (`nudge report --choose`): the method of the run. */
  readonly chosenFrom?: Method;
  /** In the order of the file. */
  readonly evaluations: readonly StepEvaluation[];
}

/** Tables request the keys of the same few methods repeatedly. */
const methodKeys = new WeakMap<Method, string>();

/** One string per method: `erm+nuclear-norm`, `swad(erm)`, `erm [scaling=sum]`. */
export function methodKey(method: Method): string {
  const known = methodKeys.get(method);
  if (known !== undefined) return known;
  const key = toKey(method);
  methodKeys.set(method, key);
  return key;
}

function toKey({ algorithm, regularizers, model, fixed }: Method): string {
  const trained = [algorithm, ...regularizers].join("+");
  const evaluated = model === "current" ? trained : `${model}(${trained})`;
  return Object.keys(fixed).length === 0 ? evaluated : `${evaluated} [${fixedText(fixed)}]`;
}

/**
 * The accuracies among records, by model and step, in the order of the file. If a row occurs twice, the last counts.
 */
export function evaluationsOf(records: readonly RunRecord[]): Map<string, StepEvaluation[]> {
  const byModel = new Map<string, Map<number, Map<string, DomainAccuracy>>>();
  for (const { step, model, domain, split, metric, value } of records) {
    if (metric !== ACCURACY || domain === null || (split !== "in" && split !== "out")) continue;
    const steps = getOrAdd(byModel, model, () => new Map<number, Map<string, DomainAccuracy>>());
    const domains = getOrAdd(steps, step, () => new Map<string, DomainAccuracy>());
    domains.set(domain, { ...domains.get(domain), [split]: value });
  }
  const toList = (steps: Map<number, Map<string, DomainAccuracy>>): StepEvaluation[] =>
    Array.from(steps, ([step, accuracy]) => ({ step, accuracy }));
  return new Map(Array.from(byModel, ([model, steps]) => [model, toList(steps)]));
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** The accuracies that an evaluation lacks for selection: `out` of every domain, and `in` of the held-out ones. */
export function missingAccuracies(
  { accuracy }: StepEvaluation,
  { domains, testDomains }: Pick<EvaluatedRun, "domains" | "testDomains">,
): string[] {
  return [
    ...domains.filter((domain) => accuracy.get(domain)?.out === undefined).map((domain) => `${domain} out`),
    ...testDomains.filter((domain) => accuracy.get(domain)?.in === undefined).map((domain) => `${domain} in`),
  ];
}
