/**
 * The data of a report: the runs, what the selection method chose among them, and the questions of every table (which
 * datasets, methods and trials; which command would fill a cell).
 */

import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { byCodePoint } from "../data/code-point-order.js";
import type { DatasetDefinition } from "../data/dataset.js";
import { datasets } from "../data/datasets/index.js";
import { shellWord } from "../files/shell-words.js";
import { groupBy } from "../group-by.js";
import { commonFixed, type FixedSettings, pickFixed } from "../records/fixed-settings.js";
import { CURRENT, type EvaluatedRun, isOwnDataset, type Method, methodKey, type StoredRun } from "../records/index.js";
import { runIdOf } from "../records/run.js";
import type { ReportedSweep } from "../run-index/indexed-sweep.js";
import { type SelectionMethod, selectGroups } from "../selection/index.js";
import { bareName, inPaperOrder, useTitles } from "../settings/names.js";
import { mostDraws } from "./cell-facts.js";
import { withOwnNames } from "./own-names.js";
import type { Results } from "./read-results.js";
import { rowTitles } from "./row-titles.js";
import { isInSweep, SweepRemedies } from "./sweep-progress.js";
import { type ReportedResult, withWholeDomains } from "./whole-domain.js";

/** A method with runs: a row. */
export interface ReportedMethod {
  readonly key: string;
  readonly title: string;
  readonly method: Method;
  /** Whether it was trained here, so that `nudge train` can fill its cells. */
  readonly own: boolean;
}

export class Outcome {
  readonly runs: readonly EvaluatedRun[];
  /** The same under the method names in the files. */
  readonly asRead: readonly EvaluatedRun[];
  readonly stored: readonly StoredRun[];
  readonly results: readonly ReportedResult[];
  /** Notes and exclusions, as text. */
  readonly notes: readonly string[];
  readonly datasets: readonly string[];
  readonly methods: readonly ReportedMethod[];
  /** Settings that are explicit and equal in all of our runs, and so do not distinguish rows. */
  readonly common: FixedSettings;
  private readonly storedByFolder: ReadonlyMap<string, StoredRun>;
  private firstByMethod: ReadonlyMap<string, EvaluatedRun> | undefined;
  private byId: ReadonlyMap<string, StoredRun> | undefined;
  /** Runs by dataset, and by dataset and method, because tables access them cell by cell. */
  private readonly byDataset: ReadonlyMap<string, readonly EvaluatedRun[]>;
  private readonly byMethod: ReadonlyMap<string, readonly EvaluatedRun[]>;
  /** Results by dataset, by row and by cell. */
  private readonly onDataset: ReadonlyMap<string, readonly ReportedResult[]>;
  private readonly inRow: ReadonlyMap<string, readonly ReportedResult[]>;
  private readonly inCell: ReadonlyMap<string, readonly ReportedResult[]>;
  private readonly held = new Map<string, ReadonlySet<string>>();
  private readonly rows = new Map<string, readonly ReportedMethod[]>();
  private readonly most = new Map<string, number>();
  private readonly members = new Map<string, number>();
  private readonly trials = new Map<string, readonly number[]>();
  private readonly ownData = new Map<string, boolean>();
  private readonly sweeps: readonly ReportedSweep[];
  /** What would fill cells that a sweep leaves empty. */
  private readonly remedies: SweepRemedies;

  constructor(
    { runs, stored, notes, sweeps = [] }: Results,
    readonly selection: SelectionMethod,
  ) {
    const apart = withDatasetsApart(runs);
    const named = withOwnNames(apart.runs);
    this.asRead = apart.runs;
    this.runs = named.runs;
    this.stored = stored;
    this.remedies = new SweepRemedies(sweeps, stored);
    this.notes = [...notes, ...this.remedies.words, ...unfinished(stored, sweeps), ...apart.notes, ...named.notes];
    this.datasets = inPaperOrder(this.runs.map(({ dataset }) => dataset));
    const own = this.runs.filter(({ format }) => format === "nudge");
    this.common = commonFixed(new Set(own.map(({ method }) => method.fixed)));
    this.storedByFolder = new Map(stored.map((run) => [run.folder, run]));
    this.results = withWholeDomains(selectGroups(this.runs, selection), (run) => this.storedOf(run), selection);
    for (const plugins of new Set(stored.map(({ settings }) => settings.plugins))) useTitles(plugins ?? []);
    this.methods = reportedMethods(this.runs, this.common, (run) => this.isOwn(run));
    this.sweeps = sweeps;
    this.byDataset = groupBy(this.runs, ({ dataset }) => dataset);
    this.onDataset = groupBy(this.results, ({ dataset }) => dataset);
    this.inRow = groupBy(this.results, ({ dataset, method }) => rowKey(dataset, methodKey(method)));
    this.inCell = groupBy(
      this.results,
      ({ dataset, method, testDomain }) => `${rowKey(dataset, methodKey(method))}\n${testDomain}`,
    );
    this.byMethod = groupBy(this.runs, ({ dataset, method }) => rowKey(dataset, methodKey(method)));
  }

  /** The run folder of a run, if it is one of ours. */
  storedOf({ source }: EvaluatedRun): StoredRun | undefined {
    return this.storedByFolder.get(source);
  }

  /** The run with an id, as its settings have it. */
  storedById(id: string): StoredRun | undefined {
    this.byId ??= new Map(this.stored.map((run) => [runIdOf(run), run]));
    return this.byId.get(id);
  }

  /** Whether a run is on own pictures. */
  private isOwn(run: EvaluatedRun): boolean {
    const dataset = this.storedOf(run)?.settings.dataset;
    return dataset !== undefined && isOwnDataset(dataset);
  }

  /** Whether a dataset consists of own pictures. */
  isOwnData(dataset: string): boolean {
    let isOwn = this.ownData.get(dataset);
    isOwn ??= this.byDataset.get(dataset)?.some((run) => this.isOwn(run)) ?? false;
    this.ownData.set(dataset, isOwn);
    return isOwn;
  }

  /** The runs of a method on a dataset. */
  runsOf(method: string, dataset: string): readonly EvaluatedRun[] {
    return this.byMethod.get(rowKey(dataset, method)) ?? [];
  }

  /** Domains of a dataset, in order. */
  domainsOf(dataset: string): readonly string[] {
    const [run] = this.byDataset.get(dataset) ?? [];
    return run ? domainsOf(run) : [];
  }

  /** The domains in the tables of a dataset: all, or for own pictures those that were held out. */
  heldOutOf(dataset: string): readonly string[] {
    const domains = this.domainsOf(dataset);
    if (!this.isOwnData(dataset)) return domains;
    const held = new Set(this.byDataset.get(dataset)?.flatMap(({ testDomains }) => testDomains));
    return domains.filter((domain) => held.has(domain));
  }

  /** What the two splits of a held-out domain are, if the dataset says that they differ. */
  testedIn(dataset: string): DatasetDefinition["tested"] {
    const [run] = this.byDataset.get(dataset) ?? [];
    return run && datasets[this.storedOf(run)?.settings.dataset ?? ""]?.tested;
  }

  /** Whether any run of a dataset holds out a domain. */
  isHeldOut(dataset: string, domain: string): boolean {
    const held = this.held.get(dataset) ?? new Set(this.byDataset.get(dataset)?.flatMap((run) => run.testDomains));
    this.held.set(dataset, held);
    return held.has(domain);
  }

  /** The methods in the tables of a dataset: those with runs; for own pictures, those with a held-out domain. */
  rowsOf(dataset: string): readonly ReportedMethod[] {
    const known = this.rows.get(dataset);
    if (known) return known;
    const own = this.isOwnData(dataset);
    const rows = this.methods.filter(({ key }) =>
      this.runsOf(key, dataset).some(({ testDomains }) => !own || testDomains.length > 0),
    );
    this.rows.set(dataset, rows);
    return rows;
  }

  /** The existing trials on a dataset, of any method, and those that its sweep will have. */
  trialsOf(dataset: string): readonly number[] {
    const known = this.trials.get(dataset);
    if (known) return known;
    const seeds = new Set<number>();
    const given = new Set<string>();
    for (const run of this.byDataset.get(dataset) ?? []) {
      seeds.add(run.trialSeed);
      const settings: object | undefined = this.sweeps.length > 0 ? this.storedOf(run)?.settings : undefined;
      const { data } = (settings ?? {}) as { data?: string };
      if (data !== undefined) given.add(data);
    }
    for (const { trials } of this.sweeps)
      for (const data of given) for (const seed of Object.hasOwn(trials, data) ? trials[data] : []) seeds.add(seed);
    const sorted = [...seeds].sort((a, b) => a - b);
    this.trials.set(dataset, sorted);
    return sorted;
  }

  /** What selection chose for a method, by dataset and held-out domain. */
  resultsOf(method: string, dataset: string, domain?: string): readonly ReportedResult[] {
    const key = rowKey(dataset, method);
    return (domain === undefined ? this.inRow.get(key) : this.inCell.get(`${key}\n${domain}`)) ?? [];
  }

  /** What selection chose on a dataset. */
  resultsOn(dataset: string): readonly ReportedResult[] {
    return this.onDataset.get(dataset) ?? [];
  }

  /** The most draws that a cell of a dataset was chosen from. */
  mostDraws(dataset: string): number {
    const known = this.most.get(dataset) ?? mostDraws(this, dataset);
    this.most.set(dataset, known);
    return known;
  }

  /** The most runs that a soup or an ensemble on a dataset combines. */
  mostMembers(dataset: string): number {
    let known = this.members.get(dataset);
    known ??= this.resultsOn(dataset).reduce(
      (most, { choice }) => Math.max(most, this.storedOf(choice.run)?.settings.combination?.members.length ?? 0),
      0,
    );
    this.members.set(dataset, known);
    return known;
  }

  /** The draws of a method on a dataset, in order. */
  drawsOf(method: string, dataset: string): readonly number[] {
    const trained = this.runsOf(method, dataset).filter((run) => !this.storedOf(run)?.settings.combination);
    return [...new Set(trained.map(({ hparamsSeed }) => hparamsSeed))].sort((a, b) => a - b);
  }

  /** The name under which a dataset was given. */
  private dataOf(dataset: string): string {
    const run = this.byDataset.get(dataset)?.[0];
    const settings: object | undefined = run && this.storedOf(run)?.settings;
    const { data = dataset } = (settings ?? {}) as { data?: string };
    return data;
  }

  /** What adds the missing trials of a sweep on a dataset, for a row that has others or none; null if no sweep plans them. */
  sweepLacks(dataset: string, missing: readonly number[], others = false): string | null {
    const data = this.dataOf(dataset);
    return this.remedies.unmade(data, missing) ?? (others ? this.remedies.unplanned(data, missing) : null);
  }

  /**
   * What adds runs that no sweep of a dataset has planned: those for cross-validation, or with this domain held out.
   * Null if there is no sweep, or if it plans them.
   */
  sweepOmits(dataset: string, domain?: string): string | null {
    const [data, trials] = [this.dataOf(dataset), this.trialsOf(dataset)];
    const isCrossed = this.selection.id === "leave-one-domain-out" && this.domainsOf(dataset).length > 2;
    const pairs = isCrossed && !this.byDataset.get(dataset)?.some(({ testDomains }) => testDomains.length === 2);
    if (pairs) return this.remedies.withoutPairs(data, trials);
    if (domain === undefined || this.byDataset.get(dataset)?.some(({ testDomains }) => testDomains.includes(domain)))
      return null;
    return this.remedies.withoutDomain(data, trials, domain);
  }

  /** The explicit settings of a method's runs, and their plug-ins. */
  private settingsOf(key: string): Partial<Pick<StoredRun["settings"], "fixed" | "plugins" | "weights">> {
    this.firstByMethod ??= firstOfEach(
      this.runs.filter(({ format }) => format === "nudge"),
      ({ method }) => methodKey(method),
    );
    const run = this.firstByMethod.get(key);
    return (run && this.storedOf(run)?.settings) ?? {};
  }

  /** The seed of a trial's runs, if it is not 0: sweeps give each trial its own seed. */
  private seedOf(dataset: string, trialSeed: number): string {
    const like = this.byDataset.get(dataset)?.find((run) => run.trialSeed === trialSeed && this.storedOf(run));
    const seed = (like && this.storedOf(like)?.settings.seed) ?? 0;
    return seed === 0 ? "" : String(seed);
  }

  /** The command that trains a missing run; null for rows of another testbed. */
  command(
    { key, method, own }: ReportedMethod,
    dataset: string,
    {
      testDomains,
      trialSeed,
      hparamsSeed = 0,
    }: { testDomains: readonly string[]; trialSeed: number; hparamsSeed?: number },
  ): string | null {
    if (!own) return null;
    const like = this.byDataset.get(dataset)?.find((run) => run.format === "nudge");
    const settings: object | undefined = like && this.storedOf(like)?.settings;
    const { data = dataset, root } = (settings ?? {}) as { data?: string; root?: string | null };
    const option = (name: string, value: string): string[] => (value === "" ? [] : [name, shellWord(value)]);
    const { fixed = {}, plugins = [], weights } = this.settingsOf(key);
    return [
      "nudge train",
      ...plugins.flatMap(({ file }) => option("--plugin", file)),
      ...option("--data", data),
      ...option("--root", root ?? ""),
      ...option("--test-domain", testDomains.join(",")),
      ...option("--algorithm", method.algorithm),
      ...option("--regularizer", method.regularizers.join(",")),
      ...option("--averaging", followersIn(method).join(",")),
      ...option("--trial-seed", String(trialSeed)),
      ...option("--seed", this.seedOf(dataset, trialSeed)),
      ...option("--hparams-seed", hparamsSeed === 0 ? "" : String(hparamsSeed)),
      ...option("--weights", method.fixed.weights === undefined ? "" : (weights ?? "")),
      ...Object.entries({ ...labelsIn(method), ...fixed }).map(([name, value]) => shellWord(`${name}=${value}`)),
    ].join(" ");
  }
}

/** The settings among the labels of a row, which a run of the row must have. */
const labelsIn = ({ fixed }: Method): FixedSettings =>
  pickFixed(
    fixed,
    (name, value) =>
      !["weights", "pictures", "code"].includes(name) && !["none", "unknown", "default"].includes(String(value)),
  );

/** The weight averages in what a row evaluates; the trained weights and T3A are none. */
const followersIn = ({ model }: Method): string[] => model.split("+").filter((id) => Object.hasOwn(followers, id));

/** The domains of the dataset of a run. */
const domainsOf = ({ domains, allDomains = domains }: EvaluatedRun): readonly string[] => allDomains;

/** Two folders of pictures can have the same name. Their domains distinguish them, and they are never averaged. */
function withDatasetsApart(runs: readonly EvaluatedRun[]): { runs: EvaluatedRun[]; notes: string[] } {
  const lists = new Map<string, Set<string>>();
  for (const run of runs)
    lists.set(run.dataset, (lists.get(run.dataset) ?? new Set()).add(JSON.stringify(domainsOf(run))));
  const mixed = [...lists].filter(([, domains]) => domains.size > 1).map(([dataset]) => dataset);
  return {
    runs: runs.map((run) =>
      mixed.includes(run.dataset)
        ? { ...run, dataset: `${run.dataset} (${domainsOf(run).join(", ")})`, evaluations: run.evaluations } // can be a getter
        : run,
    ),
    notes: mixed.map(
      (dataset) =>
        `${lists.get(dataset)!.size} datasets have the name ${dataset} but different domains; each has its own table`,
    ),
  };
}

/** Unfinished runs count up to their last evaluation, and the reader must know this. */
function unfinished(stored: readonly StoredRun[], sweeps: readonly ReportedSweep[]): string[] {
  const open = stored.filter((run) => !run.done && !isInSweep(run, sweeps));
  // Records are read lazily, so they are read only for these.
  return open
    .filter((run) => run.records.length > 0)
    .map(
      ({ folder }) =>
        `${folder}: not finished, counted up to its last evaluation. Resume with: nudge train --resume ${shellWord(folder)}`,
    );
}

/** The first item of each key. */
function firstOfEach<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T> {
  const found = new Map<string, T>();
  for (const item of items) {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, item);
  }
  return found;
}

const rowKey = (dataset: string, method: string): string => `${dataset}\n${method}`;

/** In the order of the paper: averages after trained models, regularized forms after their algorithm, ERM first. */
function reportedMethods(
  runs: readonly EvaluatedRun[],
  common: FixedSettings,
  isOwn: (run: EvaluatedRun) => boolean,
): ReportedMethod[] {
  const found = new Map<string, ReportedMethod>();
  const mixed = new Set(runs.map(({ format }) => format)).size > 1;
  const own = new Set(runs.filter(({ format }) => format === "nudge").map(({ method }) => methodKey(method)));
  const methods = new Map(runs.map(({ method }) => [methodKey(method), method]));
  const onOthers = new Set(runs.filter((run) => !isOwn(run)).map(({ method }) => methodKey(method)));
  const onOwn = new Set([...methods.keys()].filter((key) => !onOthers.has(key)));
  const titles = rowTitles([...methods.values()], common, onOwn);
  for (const { method, format } of runs) {
    const key = methodKey(method);
    if (found.has(key)) continue;
    const title = titles.get(key)! + (mixed && !own.has(key) ? ` (${format})` : "");
    found.set(key, { key, title, method, own: own.has(key) });
  }
  const order = Object.keys(algorithms).map(bareName);
  const place = ({ algorithm }: Method): number =>
    (order.indexOf(bareName(algorithm)) + order.length + 1) % (order.length + 1); // unknown ones come last
  return [...found.values()].sort(
    (a, b) =>
      Number(a.method.model !== CURRENT) - Number(b.method.model !== CURRENT) ||
      place(a.method) - place(b.method) ||
      a.method.regularizers.length - b.method.regularizers.length ||
      compareTitles(a.title, b.title),
  );
}

/** By code points, but numbers at the same position by value and before other words: `weight=5` before `weight=10`. */
function compareTitles(a: string, b: string): number {
  const [words, others] = [a, b].map((title) => title.split(/(?<=[ =])|(?=\])/));
  const at = words.findIndex((word, i) => word !== others[i]);
  const [isNumber, isOther] = [words[at], others[at]].map((word) => at > 0 && Number.isFinite(Number(word)));
  if (isNumber && isOther) return Number(words[at]) - Number(others[at]);
  return Number(isOther) - Number(isNumber) || byCodePoint(a, b);
}
