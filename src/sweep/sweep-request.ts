/**
 * The request for a sweep, as data: parts, each the product of some lists. The lists of a part come from a preset, a
 * YAML file and the command line; later sources take precedence.
 *
 *     name: weights
 *     data: [pacs, vlcs]
 *     algorithms: [ERM, ERM-NU, SWAD-NU]
 *     trials: 3                       # or [0, 2], or 3-5
 *     hparams: 20                     # draws 0 (the defaults) to 19
 *     seeds: 3                        # runs of each trial and draw
 *     combine: [soup, ensemble]       # of the draws and seeds of each trial
 *     pairs: true                     # for leave-one-domain-out cross-validation
 *     grid: { nuclear-norm.weight: [0.001, 0.01] }
 *     steps: 300                      # anything else is a setting of nudge train
 */

import { closestName } from "../closest-name.js";
import { keys, type Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { boolean, list, whole, word } from "../options.js";
import type { SettingScalar } from "../records/run.js";
import { type CombinationKind, combinationKinds } from "./combination-kinds.js";

/** Runs: every combination of these. */
export interface SweepPart {
  /** Names or paths of datasets. */
  readonly data: readonly string[];
  /** Algorithms, or methods as papers name them. */
  readonly algorithms: readonly string[];
  /** Sets of penalties to add to each of them, `none` for the empty set: `none`, `nuclear-norm`, `nuclear-norm+frobenius-norm`. */
  readonly regularizers: readonly string[];
  /** Sets of domains to hold out, `photo` or `photo+sketch`; each domain separately if there are none. */
  readonly testDomains: readonly string[];
  /** Whether every two domains are held out together as well. */
  readonly pairs: boolean;
  /** Trial seeds. */
  readonly trials: readonly number[];
  /** Seeds of draws; 0 is the defaults. */
  readonly hparams: readonly number[];
  /** The indices of the runs of each trial and draw, which have different seeds. Index 0 has the seed of the trial. */
  readonly seeds: readonly number[];
  /** The combinations of the runs of a method within a trial, over draws and seeds. Each is its own row. */
  readonly combine: readonly CombinationKind[];
  /** Settings with several values, of which all combinations are run. */
  readonly grid: Readonly<Record<string, readonly SettingScalar[]>>;
  /** Settings of all runs. A setting with an owner (`swad.tolerance`) applies to the runs that have the owner. */
  readonly settings: Request;
}

/** The given values of a part. */
export type GivenPart = Partial<SweepPart>;

/** The defaults of every part. */
export const usualPart: Omit<SweepPart, "data"> = {
  algorithms: ["ERM"],
  regularizers: ["none"],
  testDomains: [],
  pairs: false,
  trials: [0, 1, 2],
  hparams: [0],
  seeds: [0],
  combine: [],
  grid: {},
  settings: {},
};

/** The keys of a sweep. In a file, all other keys are settings of its runs. */
const readers: { readonly [K in keyof Omit<SweepPart, "settings">]: (name: string, value: unknown) => SweepPart[K] } = {
  data: list.read,
  algorithms: list.read,
  regularizers: list.read,
  testDomains: list.read,
  pairs: boolean.read,
  trials: seeds,
  hparams: seeds,
  seeds,
  combine: readCombine,
  grid: readGrid,
};

/** Settings that the sweep sets for each run, and the list that determines their values. */
const OWN: Readonly<Record<string, string>> = {
  data: "data",
  testDomains: "testDomains",
  algorithm: "algorithms",
  regularizers: "regularizers",
  averaging: "algorithms (SWAD, SWAD-NU, …)",
  trialSeed: "trials",
  hparamsSeed: "hparams",
};

/** Parses a part from a YAML file or the command line: the keys of a sweep, and settings of `nudge train`. */
export function readPart(given: Request): GivenPart {
  const part: Record<string, unknown> = {};
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (Object.hasOwn(readers, name)) part[name] = readers[name as keyof typeof readers](name, value);
    else if (name.startsWith("grid."))
      part.grid = { ...(part.grid as object), ...readGrid("grid", { [name.slice(5)]: value }) };
    else settings[name.startsWith("settings.") ? name.slice("settings.".length) : name] = value;
  }
  checkSettings(settings);
  return { ...part, ...(Object.keys(settings).length > 0 && { settings }) };
}

function checkSettings(settings: Request): void {
  for (const name of Object.keys(settings)) {
    if (Object.hasOwn(OWN, name))
      throw new UsageError(`setting ${name}: in a sweep, use the list ${OWN[name]} instead`);
    const meant = Object.hasOwn(keys, name) || name.includes(".") ? undefined : closestName(name, Object.keys(readers));
    if (meant !== undefined) throw new UsageError(`unknown key "${name}" of a sweep: did you mean "${meant}"?`);
  }
}

/** The maximum number of seeds in one list of a sweep. */
export const MOST_SEEDS = 1_000_000;

/** Consecutive integers, starting with `from`. */
function seedRange(name: string, from: number, count: number): number[] {
  if (count > MOST_SEEDS)
    throw new UsageError(
      `${name}: expected at most ${MOST_SEEDS.toLocaleString("en")} of them, got ${count.toLocaleString("en")}`,
    );
  return Array.from({ length: count }, (_, i) => from + i);
}

/** `3` for the seeds 0, 1, 2; `3-5` for 3, 4, 5; a list for those in it. */
export function seeds(name: string, value: unknown): number[] {
  if (Array.isArray(value)) return [...new Set(value.map((each) => whole(0).read(name, each)))];
  const range = typeof value === "string" ? /^(\d+)-(\d+)$/.exec(value.trim()) : null;
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])];
    if (to < from) throw new UsageError(`${name}: expected a range whose end is not below its start, got ${value}`);
    return seedRange(name, from, to - from + 1);
  }
  if (typeof value === "string" && value.includes(",")) return seeds(name, value.split(","));
  return seedRange(name, 0, whole(1).read(name, value));
}

/** Parses a list of kinds of combinations. */
function readCombine(name: string, value: unknown): readonly CombinationKind[] {
  const kind = word(...combinationKinds);
  return [...new Set(list.read(name, value).map((each) => kind.read(name, each)))];
}

/** Values by setting: lists from a file, or comma-separated texts from the command line. */
function readGrid(name: string, value: unknown): SweepPart["grid"] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${name}: expected values by setting, such as { nuclear-norm.weight: [0.001, 0.01] }`);
  return Object.fromEntries(
    Object.entries(value).map(([setting, values]: [string, unknown]) => {
      const items = typeof values === "string" ? values.split(",").map((item) => item.trim()) : values;
      const all = Array.isArray(items) ? items : [items];
      const isScalar = (item: unknown): boolean => ["string", "number", "boolean"].includes(typeof item) && item !== "";
      if (all.length === 0 || !all.every(isScalar))
        throw new UsageError(`${name} ${setting}: expected one or more comma-separated values`);
      return [setting, [...new Set(all as SettingScalar[])]];
    }),
  );
}

/** The parts to plan: those of a preset or a single one, with the given values replacing theirs. */
export function partsOf(
  preset: readonly (GivenPart & Pick<SweepPart, "data">)[] | undefined,
  given: GivenPart,
): SweepPart[] {
  if (given.grid) checkSettings(given.grid);
  const bases: readonly GivenPart[] = preset ?? [{}];
  return bases.map((base) => {
    const data = given.data ?? base.data ?? [];
    if (data.length === 0)
      throw new UsageError("no dataset: choose one or more with --data, such as --data shapes or --data pacs,vlcs");
    return {
      ...usualPart,
      ...base,
      ...given,
      data,
      grid: { ...base.grid, ...given.grid },
      settings: { ...base.settings, ...given.settings },
    };
  });
}
