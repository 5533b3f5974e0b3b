/**
 * What a report is made of: the runs read, what the selection rule chose among them, and the questions every table asks
 * (which datasets, methods, trials; which command would fill a cell).
 */

import { algorithms } from "../algorithms/index.js";
import { byCodePoint } from "../data/code-point-order.js";
import { CURRENT, type EvaluatedRun, type Method, methodKey, type Results, type StoredRun } from "../records/index.js";
import { type GroupResult, type SelectionMethod, selectGroups } from "../selection/index.js";
import { bareName, inPaperOrder, methodTitle, shellWord } from "./names.js";

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
  readonly stored: readonly StoredRun[];
  readonly results: readonly GroupResult[];
  /** What was left out or must be known, in words. */
  readonly notes: readonly string[];
  readonly datasets: readonly string[];
  readonly methods: readonly ReportedMethod[];
  /** What was set by hand in all runs of ours alike, and so does not tell rows apart. */
  readonly common: readonly string[];
  private readonly storedByFolder: ReadonlyMap<string, StoredRun>;

  constructor(
    { runs, stored, notes }: Results,
    readonly selection: SelectionMethod,
  ) {
    const apart = withDatasetsApart(runs);
    this.runs = apart.runs;
    this.stored = stored;
    this.notes = [...notes, ...unfinished(stored), ...apart.notes];
    this.results = selectGroups(this.runs, selection);
    this.datasets = inPaperOrder(this.runs.map(({ dataset }) => dataset));
    this.common = commonWords(this.runs);
    this.methods = reportedMethods(this.runs, this.common);
    this.storedByFolder = new Map(stored.map((run) => [run.folder, run]));
  }

  /** The run folder a run was read from, where it is one of ours. */
  storedOf({ source }: EvaluatedRun): StoredRun | undefined {
    return this.storedByFolder.get(source);
  }

  /** Domains of a dataset, in its order. */
  domainsOf(dataset: string): readonly string[] {
    return this.runs.find((run) => run.dataset === dataset)?.domains ?? [];
  }

  /** The trials there are on a dataset, of any method. */
  trialsOf(dataset: string): number[] {
    const seeds = new Set(this.runs.filter((run) => run.dataset === dataset).map(({ trialSeed }) => trialSeed));
    return [...seeds].sort((a, b) => a - b);
  }

  /** What selection chose for a method, by dataset and held-out domain. */
  resultsOf(method: string, dataset: string, domain?: string): GroupResult[] {
    return this.results.filter(
      (each) =>
        each.dataset === dataset &&
        methodKey(each.method) === method &&
        (domain === undefined || each.testDomain === domain),
    );
  }

  /** What was set by hand in a method's runs. */
  private givenOf(key: string): NonNullable<StoredRun["settings"]["given"]> {
    const run = this.runs.find(({ method }) => methodKey(method) === key);
    return (run && this.storedOf(run)?.settings.given) ?? {};
  }

  /** The command that trains a run that is missing; null for rows of another testbed. */
  command(
    { key, method, own }: ReportedMethod,
    dataset: string,
    { testDomains, trialSeed }: { testDomains: readonly string[]; trialSeed: number },
  ): string | null {
    if (!own) return null;
    const like = this.runs.find((run) => run.dataset === dataset && run.format === "nudge");
    const settings: object | undefined = like && this.storedOf(like)?.settings;
    const { data = dataset, root } = (settings ?? {}) as { data?: string; root?: string | null };
    const option = (name: string, value: string): string[] => (value === "" ? [] : [name, shellWord(value)]);
    return [
      "nudge train",
      ...option("--data", data),
      ...option("--root", root ?? ""),
      ...option("--test-domain", testDomains.join(",")),
      ...option("--algorithm", method.algorithm),
      ...option("--regularizer", method.regularizers.join(",")),
      ...option("--averaging", method.model === CURRENT ? "" : method.model),
      ...option("--trial-seed", String(trialSeed)),
      ...Object.entries(this.givenOf(key)).map(([name, value]) => shellWord(`${name}=${value}`)),
    ].join(" ");
  }
}

/** Two folders of pictures may have the same name; by their domains they are told apart, and never averaged. */
function withDatasetsApart(runs: readonly EvaluatedRun[]): { runs: EvaluatedRun[]; notes: string[] } {
  const lists = new Map<string, Set<string>>();
  for (const { dataset, domains } of runs)
    lists.set(dataset, (lists.get(dataset) ?? new Set()).add(JSON.stringify(domains)));
  const mixed = [...lists].filter(([, domains]) => domains.size > 1).map(([dataset]) => dataset);
  return {
    runs: runs.map((run) =>
      mixed.includes(run.dataset) ? { ...run, dataset: `${run.dataset} (${run.domains.join(", ")})` } : run,
    ),
    notes: mixed.map(
      (dataset) =>
        `${lists.get(dataset)!.size} datasets go by the name ${dataset} but differ in their domains; each has a table of its own`,
    ),
  };
}

/** Runs that are going on or were broken off count as far as they came, which a reader must know. */
function unfinished(stored: readonly StoredRun[]): string[] {
  const open = stored.filter(({ done, records }) => !done && records.length > 0);
  return open.map(
    ({ folder }) =>
      `${folder}: not finished, counted as far as it came. Go on with: nudge train --resume ${shellWord(folder)}`,
  );
}

function commonWords(runs: readonly EvaluatedRun[]): string[] {
  const own = runs.filter(({ format }) => format === "nudge").map(({ method }) => method.variant.split(" "));
  const [first = [], ...others] = own;
  return first.filter((word) => word !== "" && others.every((words) => words.includes(word)));
}

/** In the paper's manner: averages after trained models, an algorithm's regularized forms after it, ERM first. */
function reportedMethods(runs: readonly EvaluatedRun[], common: readonly string[]): ReportedMethod[] {
  const found = new Map<string, ReportedMethod>();
  const mixed = new Set(runs.map(({ format }) => format)).size > 1;
  for (const { method, format } of runs) {
    const key = methodKey(method);
    const variant = method.variant
      .split(" ")
      .filter((word) => !common.includes(word))
      .join(" ");
    const title = methodTitle({ ...method, variant }) + (mixed && format !== "nudge" ? ` (${format})` : "");
    if (!found.has(key)) found.set(key, { key, title, method, own: format === "nudge" });
  }
  const order = Object.keys(algorithms).map(bareName);
  const place = ({ algorithm }: Method): number =>
    (order.indexOf(bareName(algorithm)) + order.length + 1) % (order.length + 1); // those not known come last
  return [...found.values()].sort(
    (a, b) =>
      Number(a.method.model !== CURRENT) - Number(b.method.model !== CURRENT) ||
      place(a.method) - place(b.method) ||
      a.method.regularizers.length - b.method.regularizers.length ||
      byCodePoint(a.title, b.title),
  );
}
