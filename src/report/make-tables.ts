/**
 * The tables of a report: one per dataset in the paper's columns, the averages over datasets (the paper's Table 1), and
 * the averages of SWAD with other methods (its Tables 3 and 4).
 */

import { AVERAGE, type PublishedNumber, publishedDataset, publishedDomain } from "../paper/published.js";
import { averageOf, type Cell, datasetCell, domainCell } from "../selection/index.js";
import { datasetTitle, domainLabels, paperName } from "../settings/names.js";
import { unevenText } from "./cell-facts.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import { isOnWholeDomains } from "./own-words.js";
import { protocolWords } from "./protocol.js";
import { Notes, type Table, type TableCell, type TableRow, withMarks } from "./table.js";
import type { ReportedResult } from "./whole-domain.js";

export interface TableOptions {
  /** Show the paper's numbers below ours, with the difference. */
  readonly published?: boolean;
}

/** All tables for which there are runs. */
export function makeTables(outcome: Outcome, options: TableOptions = {}): Table[] {
  const held = outcome.datasets.filter((dataset) => outcome.heldOutOf(dataset).length > 0);
  const tables = held.flatMap((dataset) => [
    domainTable(outcome, dataset, options),
    ...(outcome.testedIn(dataset) ? [domainTable(outcome, dataset, { split: "out" })] : []),
  ]);
  const shared = outcome.datasets.filter((dataset) => !outcome.isOwnData(dataset)); // a mean over own folders has no meaning
  if (shared.length < 2) return tables;
  const methods = outcome.methods.filter(({ key }) =>
    shared.some((dataset) => outcome.runsOf(key, dataset).length > 0),
  );
  tables.push(
    averagesTable(outcome, methods, { id: "averages", title: "Averages over datasets", datasets: shared, ...options }),
  );
  const averaged = methods.filter(({ method }) => method.model === "swad");
  if (averaged.length > 1)
    tables.push(
      averagesTable(outcome, averaged, { id: "swad", title: "SWAD with other methods", datasets: shared, ...options }),
    );
  return tables;
}

/** The table of a dataset: of the `in` split of held-out domains, or of the other one, if it is something else. */
function domainTable(
  outcome: Outcome,
  dataset: string,
  { published, split = "in" }: TableOptions & { readonly split?: "in" | "out" },
): Table {
  const tested = outcome.testedIn(dataset);
  const domains = outcome.heldOutOf(dataset);
  const labels = domainLabels(dataset, domains);
  const notes = new Notes();
  const methods = outcome.rowsOf(dataset);
  const rows = methods.flatMap((method): TableRow[] => {
    const cells = domains.map((domain) => {
      const own = outcome.resultsOf(method.key, dataset, domain);
      const results = split === "in" ? own : own.map(onOtherSplit);
      return domainCell(results, { dataset, method: method.key, domain });
    });
    const shown = cells.map((cell, i): TableCell => {
      const gap = domainGap(outcome, method, dataset, domains[i]);
      const whole = wholeOf(outcome.resultsOf(method.key, dataset, domains[i]), outcome.trialsOf(dataset).length);
      return { ...ownCell(cell, gap, notes), ...whole };
    });
    const own = [...shown, averageCell(averageOf(cells), shown, notes)];
    return withPublished(
      { kind: "own", title: method.title, method: method.key, cells: own },
      published ? [...labels, AVERAGE].map((label) => publishedDomain(dataset, paperName(method.method), label)) : [],
      notes,
    );
  });
  return {
    id: split === "in" ? dataset : `${dataset}-${split}`,
    title: `${datasetTitle(dataset)}${tested ? `: ${tested[split]}` : ""}`,
    words: split === "in" ? protocolWords(outcome, [dataset]) : OTHER_SPLIT,
    columns: [...labels, AVERAGE],
    rows: withMarks(rows),
    notes: notes.texts,
  };
}

const OTHER_SPLIT = ["The same models on the other pictures of the held-out domains. Their accuracy says less."];

/** What selection chose, with its accuracy on the `out` split of the held-out domain. */
function onOtherSplit(result: ReportedResult): ReportedResult {
  const { choice, testDomain } = result;
  const evaluation = choice.run.evaluations.find(({ step }) => step === choice.step);
  return { ...result, choice: { ...choice, test: evaluation?.accuracy.get(testDomain)?.out ?? Number.NaN } };
}

function averagesTable(
  outcome: Outcome,
  methods: readonly ReportedMethod[],
  { id, title, datasets, published }: TableOptions & { id: string; title: string; datasets: readonly string[] },
): Table {
  const notes = new Notes();
  const rows = methods.flatMap((method): TableRow[] => {
    const cells = datasets.map((dataset) =>
      datasetCell(outcome.resultsOf(method.key, dataset), { dataset, method: method.key }),
    );
    const shown = cells.map((cell, i) => ownCell(cell, datasetGap(outcome, method, datasets[i]), notes));
    const own = [...shown, averageCell(averageOf(cells), shown, notes)];
    const printed = published ? datasets.map((dataset) => publishedDataset(paperName(method.method), dataset)) : [];
    // The paper's average is over its five datasets; next to a mean over others it would be misleading.
    const average =
      published && datasets.length === 5 && !printed.includes(null) ? publishedDataset(paperName(method.method)) : null;
    const row: TableRow = { kind: "own", title: method.title, method: method.key, cells: own };
    return withPublished(row, published ? [...printed, average] : [], notes);
  });
  return {
    id,
    title,
    words: [
      ...protocolWords(outcome, datasets),
      "A dataset's accuracy is the mean over its domains in each trial, then over trials.",
    ],
    columns: [...datasets.map(datasetTitle), AVERAGE],
    rows: withMarks(rows),
    notes: notes.texts,
  };
}

/** What a cell lacks: the number of trials it has, and a text on what is missing and how to add it. */
interface Gap {
  readonly trials: readonly [number, number];
  readonly text: string | null;
}

/** For one model on all pictures of its domain: their number, and the interval from that number. */
function wholeOf([result]: readonly ReportedResult[], trials: number): Pick<TableCell, "interval" | "pictures"> {
  if (!result?.whole) return {};
  const { count: pictures, interval } = result.whole;
  return trials === 1 ? { interval, pictures } : { pictures }; // several trials give the standard error instead
}

function domainGap(outcome: Outcome, method: ReportedMethod, dataset: string, domain: string): Gap {
  const trials = outcome.trialsOf(dataset);
  const have = new Set(outcome.resultsOf(method.key, dataset, domain).map(({ trialSeed }) => trialSeed));
  const missing = trials.filter((seed) => !have.has(seed));
  const uneven = unevenText(outcome, outcome.resultsOf(method.key, dataset, domain), {
    ...{ dataset, method: method.key, domain, most: outcome.mostDraws(dataset) },
  });
  if (missing.length === 0) {
    const texts = [partText(outcome, dataset, { method, domain }), uneven].filter((text) => text !== null);
    return { trials: [trials.length, trials.length], text: texts.length > 0 ? texts.join("; ") : null };
  }
  const gap = missingGap(outcome, method, { dataset, domain, missing, have });
  return uneven === null || gap.text === null ? gap : { ...gap, text: `${gap.text}; ${uneven}` };
}

/** What a cell lacks that has not all trials of its table. */
function missingGap(
  outcome: Outcome,
  method: ReportedMethod,
  {
    dataset,
    domain,
    missing,
    have,
  }: { dataset: string; domain: string; missing: readonly number[]; have: ReadonlySet<number> },
): Gap {
  const trials = outcome.trialsOf(dataset);
  const others = method.own && have.size > 0;
  const sweep = outcome.sweepOmits(dataset, domain) ?? outcome.sweepLacks(dataset, missing, others);
  if (sweep !== null) return { trials: [have.size, trials.length], text: sweep };
  const rows = outcome.rowsOf(dataset);
  if (rows.length > 1 && !outcome.isHeldOut(dataset, domain))
    return { trials: [0, trials.length], text: nowhereText(outcome, rows[0], { dataset, domain }) };
  const asked = outcome.isOwnData(dataset) ? trainingText(outcome, method, { dataset, missing }) : null;
  if (asked !== null) return { trials: [have.size, trials.length], text: asked };
  const testDomains = firstMissing(outcome, method, { dataset, domain, trialSeed: missing[0] });
  const where = `${method.title}, ${domain} held out`;
  const what =
    testDomains.length > 1
      ? `${outcome.selection.title} also needs runs with ${testDomains.join(" and ")} held out together`
      : "there is no run";
  const which =
    have.size === 0 ? "" : ` in trial ${missing.join(", ")} (${have.size} of ${trials.length} trials exist)`;
  const draws = outcome.drawsOf(method.key, dataset);
  const command = outcome.command(method, dataset, { testDomains, trialSeed: missing[0], hparamsSeed: draws[0] });
  const further = [
    ...(missing.length > 1 ? [`--trial-seed ${missing.slice(1).join(", ")}`] : []),
    ...(draws.length > 1 ? [`--hparams-seed ${draws.slice(1).join(", ")}`] : []),
  ];
  const rest = further.length > 0 && command ? `; likewise ${further.join(", each with ")}` : "";
  const fill = command ? `run it with: ${command}${rest}` : "its runs come from the files of another testbed";
  return { trials: [have.size, trials.length], text: `${where}: ${what}${which}; ${fill}` };
}

/**
 * One note for a row of own pictures: one command trains everything that a trial lacks. Null if a selection method
 * needs other runs.
 */
function trainingText(
  outcome: Outcome,
  method: ReportedMethod,
  { dataset, missing }: { dataset: string; missing: readonly number[] },
): string | null {
  const command = outcome.command(method, dataset, { testDomains: [], trialSeed: missing[0] });
  if (command === null || outcome.selection.id === "leave-one-domain-out") return null;
  const rest = missing.length > 1 ? `; likewise --trial-seed ${missing.slice(1).join(", ")}` : "";
  return `${method.title}: runs of trial ${missing.join(", ")} are missing; train them with: ${command}${rest}`;
}

/** A cell on a part of the domain's pictures, in a table where others cover all of them. */
function partText(
  outcome: Outcome,
  dataset: string,
  { method, domain }: { method: ReportedMethod; domain: string },
): string | null {
  if (!isOnWholeDomains(outcome, dataset)) return null;
  const isWhole = outcome.resultsOf(method.key, dataset, domain).every(({ whole }) => whole !== undefined);
  return isWhole
    ? null
    : "measured only on the part of the domain's pictures that is evaluated during training, because the selected model has not been assessed on all of them; not comparable with the other cells";
}

/** One note for a domain that none of several methods held out: a whole column, which the user excluded. */
function nowhereText(
  outcome: Outcome,
  method: ReportedMethod,
  { dataset, domain }: { dataset: string; domain: string },
): string {
  const [trialSeed] = outcome.trialsOf(dataset);
  const command = outcome.command(method, dataset, { testDomains: [domain], trialSeed });
  return `${domain} held out: no method has a run${command ? `; start with: ${command}` : ""}`;
}

/** The domains to hold out in the first missing run: the domain alone, or with another one for cross-validation. */
function firstMissing(
  outcome: Outcome,
  { key }: ReportedMethod,
  { dataset, domain, trialSeed }: { dataset: string; domain: string; trialSeed: number },
): string[] {
  const held = outcome.runsOf(key, dataset).filter((run) => run.trialSeed === trialSeed);
  const has = (...domains: string[]): boolean =>
    held.some(
      ({ testDomains }) => testDomains.length === domains.length && domains.every((d) => testDomains.includes(d)),
    );
  if (!has(domain) || outcome.selection.id !== "leave-one-domain-out") return [domain];
  const other = outcome.domainsOf(dataset).find((each) => each !== domain && !has(domain, each));
  return other === undefined ? [domain] : [domain, other];
}

function datasetGap(outcome: Outcome, method: ReportedMethod, dataset: string): Gap {
  const trials = outcome.trialsOf(dataset);
  const domains = outcome.domainsOf(dataset);
  const results = outcome.resultsOf(method.key, dataset);
  const have = new Set(results.map(({ trialSeed }) => trialSeed)).size;
  const whole = trials.length * domains.length;
  if (results.length === whole) return { trials: [have, trials.length], text: null };
  const sweep = outcome.sweepOmits(dataset) ?? outcome.sweepLacks(dataset, trials);
  if (sweep !== null) return { trials: [have, trials.length], text: sweep };
  if (results.length > 0) {
    const text = `${method.title} on ${datasetTitle(dataset)}: ${results.length} of ${whole} runs (domains × trials), so it is not comparable with complete cells; the table of the dataset lists what is missing`;
    return { trials: [have, trials.length], text };
  }
  const command = outcome.command(method, dataset, { testDomains: domains.slice(0, 1), trialSeed: trials[0] ?? 0 });
  const fill = command ? `start with: ${command}` : "its runs come from the files of another testbed";
  return { trials: [0, trials.length], text: `${method.title} on ${datasetTitle(dataset)}: there is no run; ${fill}` };
}

function ownCell(cell: Cell | null, { trials, text }: Gap, notes: Notes): TableCell {
  const note = text === null ? null : notes.add(text);
  // One trial has no spread: ± 0.0 would suggest certainty.
  const error = cell && cell.values.length > 1 ? cell.error : null;
  return { mean: cell?.mean ?? null, error, trials, mark: null, note };
}

function averageCell(mean: number | null, cells: readonly TableCell[], notes: Notes): TableCell {
  const partial = cells.some(({ note }) => note !== null);
  const text = mean === null ? "no average: a cell of the row is empty" : "an average that includes partial cells";
  return { mean, error: null, trials: null, mark: null, note: partial ? notes.add(text) : null };
}

/** A row of ours, followed by the paper's row with the difference, if there are published numbers. */
function withPublished(row: TableRow, numbers: readonly (PublishedNumber | null)[], notes: Notes): TableRow[] {
  if (numbers.every((number) => number === null)) return [row];
  const bare = { trials: null, mark: null, note: null };
  const sources = [...new Set(numbers.flatMap((number) => number?.source ?? []))];
  const from = notes.add(`published: ${sources.join("; ")}`);
  const first = numbers.findIndex((number) => number !== null);
  const printed = numbers.map((number, i): TableCell => {
    const note = i === first ? from : null;
    if (number === null) return { ...bare, mean: null, error: null };
    return { ...bare, mean: number.mean / 100, error: number.error === null ? null : number.error / 100, note };
  });
  const differences = numbers.map((number, i): TableCell => {
    const { mean } = row.cells[i];
    return { ...bare, mean: mean === null || number === null ? null : mean - number.mean / 100, error: null };
  });
  const { method } = row;
  return [
    row,
    { kind: "published", title: "published", method, cells: printed },
    { kind: "difference", title: "ours − published", method, cells: differences },
  ];
}
