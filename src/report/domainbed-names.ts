/**
 * Our rows and hyperparameters under the names of DomainBed and of papers, for its tables and its `results.jsonl`. Rows
 * are named as in every other format: settings that all runs share are not part of a name.
 */

import { algorithms } from "../algorithms/index.js";
import type { Hparam } from "../hparams.js";
import { referenceAlgorithms } from "../records/domainbed-names.js";
import type { RunSettings } from "../records/index.js";
import { regularizers } from "../regularizers/index.js";
import { domainBedTables } from "../selection/index.js";
import { bareName } from "../settings/names.js";
import { declaredHparams } from "../settings/values-of-run.js";
import type { Outcome } from "./outcome.js";

/** Names of rows by method key: their titles, in DomainBed's spelling if it has the method. */
export function domainBedNames({ methods }: Outcome): Map<string, string> {
  return new Map(methods.map(({ key, title }) => [key, spelled(title)]));
}

const spelled = (title: string): string =>
  referenceAlgorithms.find((name) => bareName(name) === bareName(title)) ?? title;

/** The text of DomainBed's collector. If all runs come from another testbed, rows have the names in their files. */
export function toDomainBedTables(outcome: Outcome): string {
  return outcome.runs.some(({ format }) => format === "nudge")
    ? domainBedTables(outcome.runs, domainBedNames(outcome))
    : domainBedTables(outcome.asRead);
}

const penaltyOf = (id: string) => Object.values(regularizers).find((each) => each.id === id);

type Declared = Readonly<Record<string, Hparam>>;

/**
 * The hyperparameters of a run under the names of the reference code, `batch_size` and `irm_lambda`, including those of
 * penalties (`theta`). A hyperparameter without a name there keeps ours, with its owner for penalties:
 * `nuclear-norm.warmup`.
 */
export function domainBedHparams({ algorithm, hparams, regularizers: penalties }: RunSettings): RunSettings["hparams"] {
  const own = declaredHparams(Object.hasOwn(algorithms, algorithm) ? algorithms[algorithm] : undefined);
  const renamed = (values: RunSettings["hparams"], declared: Declared, prefix = "") =>
    Object.entries(values).map(([name, value]) => [
      (Object.hasOwn(declared, name) ? declared[name].reference : undefined) ?? prefix + name,
      value,
    ]);
  return Object.fromEntries([
    ...penalties.flatMap(({ id, settings }) => renamed(settings, penaltyOf(id)?.hparams ?? {}, `${id}.`)),
    ...renamed(hparams, own),
  ]);
}
