/**
 * Prints the tables of DomainBed's collector, character for character: one table for each dataset and one of averages,
 * for each of the three selection methods (facebookresearch/DomainBed b93c22a, `collect_results`). With them a reader
 * can check that both testbeds compute the same numbers from the same files. There is one difference. DomainBed's
 * collector truncates long names, which could make two of our rows look the same, so the first column widens to fit the
 * names in `names`.
 */

import { referenceAlgorithms, referenceDatasets } from "../records/domainbed-names.js";
import { type EvaluatedRun, methodKey } from "../records/evaluated-run.js";
import { type GroupResult, selectGroups } from "./across-hparams.js";
import { type Cell, datasetCell, domainCell, formatAverage, formatCell } from "./cells.js";
import { leaveOneDomainOut } from "./leave-one-domain-out.js";
import { oracle } from "./oracle.js";
import { trainingDomain } from "./training-domain.js";

/** The widths to which cells are padded or truncated. */
const WIDTH = 20;
const AVERAGES_WIDTH = 25;

/**
 * Returns the text of `results.txt`. Runs keep their order, which in DomainBed depends on the file system.
 *
 * @param names row names by method key; rows without a name show their key, truncated as in DomainBed
 */
export function domainBedTables(runs: readonly EvaluatedRun[], names: ReadonlyMap<string, string> = new Map()): string {
  const total = runs.reduce((count, { evaluations }) => count + evaluations.length, 0);
  const lines = [`Total records: ${total}`];
  for (const selection of [trainingDomain, leaveOneDomainOut, oracle]) {
    lines.push(...tables(runs, selectGroups(runs, selection), selection.title, names));
  }
  return `${lines.join("\n")}\n`;
}

function tables(
  runs: readonly EvaluatedRun[],
  results: readonly GroupResult[],
  selection: string,
  names: ReadonlyMap<string, string>,
): string[] {
  const rows = rowsOf(runs, names);
  // DomainBed's tables only contain its own datasets.
  const datasets = referenceDatasets.flatMap(({ name, id = name, labels, domains = labels }) =>
    runs.some(({ dataset }) => dataset === id) ? [{ name, id, labels, domains }] : [],
  );
  const perDataset = datasets.flatMap(({ name, id, labels, domains }) => {
    const cells = (method: string): (Cell | null)[] =>
      domains.map((domain) => domainCell(results, { dataset: id, method, domain }));
    return table(`Dataset: ${name}, model selection method: ${selection}`, labels, rows, cells, WIDTH);
  });
  const averages = table(
    `Averages, model selection method: ${selection}`,
    datasets.map(({ name }) => name),
    rows,
    (method) => datasets.map(({ id }) => datasetCell(results, { dataset: id, method })),
    AVERAGES_WIDTH,
  );
  return [...perDataset, ...averages];
}

interface Row {
  /** The method as a string from `methodKey`. */
  readonly method: string;
  readonly name: string;
  /** The minimum width of the first column, which is the length of the row's given name. */
  readonly width: number;
}

function table(
  title: string,
  labels: readonly string[],
  rows: readonly Row[],
  cellsOf: (method: string) => readonly (Cell | null)[],
  width: number,
): string[] {
  const texts = rows.map(({ method, name }) => {
    const cells = cellsOf(method);
    return [name, ...cells.map((cell) => formatCell(cell)), formatAverage(cells)];
  });
  const first = Math.max(width, ...rows.map((row) => row.width));
  const fill = (text: string, to: number): string => text.padEnd(to).slice(0, to);
  const toLine = (row: readonly string[]): string =>
    `${row.map((text, i) => fill(text, i === 0 ? first : width)).join("  ")} `;
  return ["", `-------- ${title}`, ...[["Algorithm", ...labels, "Avg"], ...texts].map(toLine)];
}

/**
 * Returns each row once: first DomainBed's algorithms in the order of its registry, then the others in the order of
 * `names` or of their first appearance.
 */
function rowsOf(runs: readonly EvaluatedRun[], names: ReadonlyMap<string, string>): Row[] {
  const present = new Set(runs.map(({ method }) => methodKey(method)));
  const named = [...names.keys()].filter((key) => present.has(key));
  const rows = Array.from(new Set([...named, ...present]), (method): Row => {
    const name = names.get(method);
    return { method, name: name ?? method, width: name?.length ?? 0 };
  });
  const place = ({ name }: Row): number =>
    (referenceAlgorithms.indexOf(name) + referenceAlgorithms.length + 1) % (referenceAlgorithms.length + 1);
  return rows.sort((a, b) => place(a) - place(b));
}
