/**
 * From a request to its runs: every combination, each resolved completely and named by its settings, so that no two are
 * the same. In DomainBed's order, outermost first: trial, dataset, method, held-out domains, draw; then the values of a
 * grid.
 *
 * Methods that differ only in the averaging of their weights share a trajectory, so they are one run: ERM and SWAD are
 * planned as ERM with SWAD, and the report reads both from its records.
 */

import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { type Dataset, numberedDomain } from "../data/dataset.js";
import { machineKeys } from "../declared-settings/declared.js";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { factsDigest } from "../records/facts.js";
import { fixedWord } from "../records/fixed-settings.js";
import { regularizers } from "../regularizers/index.js";
import { SettingsMemo } from "../settings/memo.js";
import type { Method } from "../settings/method.js";
import { runName, type TrainSettings } from "../settings/settings.js";
import { datasetFor, type SettledRun, settle, siblingsOf } from "../settings/settle.js";
import { usesSetting } from "../settings/unused.js";
import { type JobOf, jobName, jobSeed } from "./reference-jobs.js";
import type { PlannedRun, RunRequest } from "./sweep-folder.js";
import type { SweepPart } from "./sweep-request.js";

export interface PlanOptions {
  readonly memo?: SettingsMemo;
  /** Whether to give runs the job seeds of DomainBed and to record the names of its jobs. */
  readonly referenceJobs?: boolean;
  /** Called from time to time with the number of runs so far. */
  readonly onProgress?: (runs: number) => void;
  /** Called with complete settings, once for all runs that differ only in the held-out domains. */
  readonly onSettled?: (settings: TrainSettings) => void;
}

/** The maximum number of runs of a plan: a file of a gigabyte. */
export const MOST_RUNS = 2_000_000;

/** Plans the runs of some parts. */
export async function planRuns(parts: readonly SweepPart[], options: PlanOptions = {}): Promise<PlannedRun[]> {
  const { memo = new SettingsMemo(), onProgress } = options;
  const found = new Map<string, PlannedRun>();
  const prepared = parts.map((part) => ({ part, methods: mergedMethods(part, memo) }));
  let count = 0;
  for (const { part, methods } of prepared) count += await countRuns(part, methods, memo);
  if (count > MOST_RUNS)
    throw new UsageError(
      `this plan has ${count.toLocaleString("en")} runs; the limit is ${MOST_RUNS.toLocaleString("en")}. Reduce --trials or --hparams, or remove values from --grid`,
    );
  const trials = [...new Set(parts.flatMap((part) => part.trials))].sort((a, b) => a - b);
  for (const trialSeed of trials) {
    for (const { part, methods } of prepared) {
      if (!part.trials.includes(trialSeed)) continue;
      for await (const runs of runsOf(part, methods, { ...options, memo, trialSeed }))
        for (const run of runs) {
          if (!found.has(run.id)) found.set(run.id, run);
          if (found.size % 5000 === 0) onProgress?.(found.size);
        }
    }
  }
  return [...found.values()];
}

/** The number of runs of a part, counted without resolving them. */
async function countRuns(part: SweepPart, methods: readonly PlannedMethod[], memo: SettingsMemo): Promise<number> {
  const ofMethods = methods.reduce((sum, method) => {
    const lists = Object.entries(part.grid).filter(([name]) => concerns(name, method));
    return sum + lists.reduce((product, [, values]) => product * values.length, 1);
  }, 0);
  let sets = 0;
  for (const data of part.data) sets += domainSets(part, await datasetFor({ ...part.settings, data }, memo)).length;
  return part.trials.length * part.hparams.length * part.seeds.length * ofMethods * sets;
}

/** The methods of some parts. */
export const plannedMethods = (parts: readonly SweepPart[], memo: SettingsMemo): readonly Method[] =>
  parts.flatMap((part) => mergedMethods(part, memo));

interface Context extends PlanOptions {
  readonly memo: SettingsMemo;
  readonly trialSeed: number;
}

/** The runs of one trial of a part, method by method. */
async function* runsOf(
  part: SweepPart,
  methods: readonly PlannedMethod[],
  context: Context,
): AsyncGenerator<readonly PlannedRun[]> {
  for (const data of part.data) {
    const dataset = await datasetFor({ ...part.settings, data }, context.memo);
    for (const method of methods) yield await runsOfMethod(part, method, { data, dataset }, context);
  }
}

/** The runs of one trial of a method on a dataset: held-out domains, draws, points of the grid. */
async function runsOfMethod(
  part: SweepPart,
  method: PlannedMethod,
  { data, dataset }: { data: string; dataset: Dataset },
  { memo, trialSeed, referenceJobs, onSettled }: Context,
): Promise<PlannedRun[]> {
  const runs: PlannedRun[] = [];
  const requested = settingsFor(method, part.settings);
  const common = { ...idsOf(method), data, trialSeed };
  const points = gridPoints(method, part.grid);
  // Runs that differ only in the held-out domains are resolved from the first of them.
  const families = new Map<string, Family>();
  // Draws are resolved from the first one of the same point.
  const firsts = new Map<number, SettledRun>();
  for (const testDomains of domainSets(part, dataset)) {
    const places = testDomains.map((name) => dataset.domains.findIndex((domain) => domain.name === name));
    for (const hparamsSeed of part.hparams) {
      const job = { dataset: dataset.id, method, testDomains: places, trialSeed, hparamsSeed };
      const seeds = referenceJobs ? { seed: jobSeed(job) } : {};
      const named =
        referenceJobs && points.length === 1 ? referenceJob(job, { ...requested, ...points[0] }) : undefined;
      for (const [i, point] of points.entries()) {
        // Each trial has its own seed, which all methods share, so that differences between methods are not due to the seed.
        const given: Request = { seed: trialSeed, ...method.settings, ...requested, ...point, ...seeds };
        const key = `${hparamsSeed} ${i}`;
        let family = families.get(key);
        if (family === undefined) {
          const run =
            firsts.get(i)?.redraw?.({ hparamsSeed, ...seeds }) ??
            (await settle({ ...given, ...common, testDomains, hparamsSeed }, memo));
          if (!firsts.has(i)) firsts.set(i, run);
          family = familyOf(run, given, memo);
          families.set(key, family);
          onSettled?.(family.settings);
        }
        for (const place of part.seeds)
          runs.push(
            plannedRun(family, method, { testDomains, ...seeds, ...seedOf(family, place), referenceJob: named }),
          );
      }
    }
  }
  return runs;
}

/** The seed of an additional run of a trial, far from the seeds of other trials. */
const seedOf = ({ settings }: Family, place: number): { seed?: number } =>
  place === 0 ? {} : { seed: settings.seed + 1000 * place };

/** Runs that differ only in the held-out domains and the seed: their shared settings, and a function that resolves one of them. */
interface Family {
  readonly settings: TrainSettings;
  readonly request: RunRequest;
  readonly facts: string | undefined;
  readonly sibling: ReturnType<typeof siblingsOf>;
}

function familyOf(run: SettledRun, given: Request, memo: SettingsMemo): Family {
  const { settings } = run;
  const request: Record<string, RunRequest[string]> = {};
  for (const name in settings.request)
    if (given[name] !== undefined || !machineKeys.has(name)) request[name] = settings.request[name];
  const facts = settings.facts && factsDigest(settings.facts);
  return { settings, request, facts, sibling: siblingsOf(run, memo) };
}

function plannedRun(
  { settings, request, facts, sibling }: Family,
  method: Method,
  own: { testDomains: readonly string[]; seed?: number; referenceJob?: string },
): PlannedRun {
  const { hash, testDomains, seed } = sibling(own.testDomains, own.seed);
  const { dataset, algorithm, regularizers: penalties, averaging, trialSeed, probe } = settings;
  return {
    id: hash,
    name: runName({ hash, dataset, testDomains, algorithm, regularizers: penalties, averaging, trialSeed, probe }),
    dataset,
    title: `${titleOf(settings, testDomains, method)}${seed === settings.seed ? "" : ` · seed ${seed}`}`,
    ...(own.referenceJob === undefined ? {} : { referenceJob: own.referenceJob }),
    ...(facts && { facts }),
    request: { ...request, testDomains, seed },
  };
}

const idsOf = ({ algorithm, regularizers: penalties, averaging }: Method) => ({
  algorithm: algorithm.id,
  regularizers: penalties.map(({ id }) => id),
  averaging: averaging.map(({ id }) => id),
});

/** A method to plan, and the settings that its runs must have. */
interface PlannedMethod extends Method {
  readonly settings: Request;
}

/**
 * The methods of a part, in which methods that share a trajectory are merged. SWAD ends a run after the loss valley; a run that
 * also stands for the method without SWAD must continue.
 */
function mergedMethods({ algorithms: names, regularizers: sets }: SweepPart, memo: SettingsMemo): PlannedMethod[] {
  const merged = new Map<string, { plain: boolean; method: Method }>();
  for (const algorithm of names) {
    for (const set of sets) {
      const method = memo.method({ algorithm, regularizers: set === "none" ? [] : set.split("+") });
      const key = [method.algorithm.id, ...method.regularizers.map(({ id }) => id)].join("+");
      const before = merged.get(key);
      const averaging = new Set([...(before?.method.averaging ?? []), ...method.averaging]);
      const plain = before?.plain || method.averaging.length === 0;
      merged.set(key, { plain, method: { ...method, averaging: [...averaging] } });
    }
  }
  return Array.from(merged.values(), ({ plain, method }) => {
    const ends = plain ? method.averaging.filter(({ settings }) => Object.hasOwn(settings, "afterValley")) : [];
    return { ...method, settings: Object.fromEntries(ends.map(({ id }) => [`${id}.afterValley`, "continue"])) };
  });
}

/** The sets of domains to hold out, in DomainBed's order: a single domain, then its pairs with each later domain. */
function domainSets({ testDomains, pairs }: SweepPart, { id, domains }: Dataset): string[][] {
  const names = domains.map(({ name }) => name);
  const known = (name: string): string => {
    if (!names.includes(name))
      throw new UsageError(
        `test domain "${name}": ${numberedDomain(names, name) ?? `dataset ${id} has ${names.join(", ")}`}`,
      );
    return name;
  };
  // A name can contain the plus sign, as ColoredMNIST's "+90%" does.
  const requested = testDomains.map((set) => (names.includes(set) ? [set] : set.split("+").map(known)));
  // With only two domains, holding out a pair leaves no domain for training. DomainBed requires three, too.
  if (pairs && names.length < 3)
    throw new UsageError(
      `--pairs: dataset ${id} has ${names.length} domains, but holding out two needs at least three`,
    );
  const sets = requested.length > 0 ? requested : names.map((name) => [name]);
  const isRequested = (name: string): boolean => sets.some((set) => set.length === 1 && set[0] === name);
  return sets.flatMap((set) => {
    const [name] = set;
    if (!pairs || set.length > 1) return [set];
    // Each pair occurs once: with the later domains, and with the earlier ones that are not held out alone.
    const others = names.filter((other, i) => i > names.indexOf(name) || (other !== name && !isRequested(other)));
    return [set, ...others.map((other) => names.filter((each) => each === name || each === other))];
  });
}

/**
 * Whether a setting applies to a method. A setting with an owner (`swad.tolerance`) applies if the method includes the
 * owner, and one without an owner if the algorithm uses it: DANN has no `lr`.
 */
export function concerns(setting: string, { algorithm, regularizers: penalties, averaging }: Method): boolean {
  const owner = setting.slice(0, Math.max(0, setting.indexOf(".")));
  const isOwner = [algorithms, regularizers, followers].some((registry) => Object.hasOwn(registry, owner));
  return isOwner
    ? [algorithm, ...penalties, ...averaging].some(({ id }) => id === owner)
    : usesSetting(algorithm, setting);
}

const settingsFor = (method: Method, settings: Request): Request =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => concerns(name, method)));

/** Every combination of the grid's values that apply to a method; a single empty combination if none applies. */
function gridPoints(method: Method, grid: SweepPart["grid"]): Request[] {
  return Object.entries(grid)
    .filter(([name]) => concerns(name, method))
    .reduce<Request[]>(
      (points, [name, values]) => points.flatMap((point) => values.map((value) => ({ ...point, [name]: value }))),
      [{}],
    );
}

/** DomainBed's name of a run; undefined if settings are given that DomainBed's command line does not have. */
function referenceJob(job: JobOf, { root, steps, holdout, protocol: _, ...others }: Request): string | undefined {
  if (root === undefined || Object.keys(others).some((name) => !machineKeys.has(name))) return undefined;
  return jobName(job, {
    dataDir: String(root),
    ...(steps === undefined ? {} : { steps: Number(steps) }),
    ...(holdout === undefined ? {} : { holdout: Number(holdout) }),
  });
}

/** `pacs · sketch held out · ERM-NU and SWAD · weight=0.03 · trial 0 · draw 4`. */
function titleOf(settings: TrainSettings, testDomains: readonly string[], method: Method): string {
  const { dataset, fixed, trialSeed, hparamsSeed } = settings;
  const trained = [method.algorithm, ...method.regularizers].map(({ title }) => title).join("-");
  const set = Object.entries(fixed).map(([name, value]) => fixedWord(name, value));
  return [
    dataset,
    `${testDomains.join(" + ")} held out`,
    [trained, ...method.averaging.map(({ title }) => title)].join(" and "),
    ...(set.length > 0 ? [set.join(" ")] : []),
    `trial ${trialSeed}`,
    ...(hparamsSeed > 0 ? [`draw ${hparamsSeed}`] : []),
  ].join(" · ");
}
