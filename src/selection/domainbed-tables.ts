/**
 * The tables DomainBed's own collector prints, character for character: a table a dataset and one of averages, for each
 * of the three selection methods (facebookresearch/DomainBed b93c22a, `collect_results`). It is how a reader checks
 * that both testbeds see the same in the same files.
 */

import { referenceAlgorithms, referenceDatasets } from "../records/domainbed-names.js";
import { type EvaluatedRun, methodKey } from "../records/evaluated-run.js";
import { type GroupResult, selectGroups } from "./across-hparams.js";
import { type Cell, datasetCell, domainCell, formatAverage, formatCell } from "./cells.js";
import { leaveOneDomainOut } from "./leave-one-domain-out.js";
import { oracle } from "./oracle.js";
import { trainingDomain } from "./training-domain.js";

/** Widths that cells are filled and cut to. */
const WIDTH = 20;
const AVERAGES_WIDTH = 25;

/** The text of `results.txt`. Runs are taken in their order, which the collector leaves to the file system. */
export function domainBedTables(runs: readonly EvaluatedRun[]): string {
  const total = runs.reduce((count, { evaluations }) => count + evaluations.length, 0);
  const lines = [`Total records: ${total}`];
  for (const selection of [trainingDomain, leaveOneDomainOut, oracle]) {
    lines.push(...tables(runs, selectGroups(runs, selection), selection.title));
  }
  return `${lines.join("\n")}\n`;
}

function tables(runs: readonly EvaluatedRun[], results: readonly GroupResult[], selection: string): string[] {
  const methods = inOrder(
    runs.map(({ method }) => methodKey(method)),
    referenceAlgorithms,
  );
  // Datasets that DomainBed does not know are not in its tables.
  const datasets = referenceDatasets.flatMap(({ name, id = name, labels, domains = labels }) =>
    runs.some(({ dataset }) => dataset === id) ? [{ name, id, labels, domains }] : [],
  );
  const perDataset = datasets.flatMap(({ name, id, labels, domains }) => {
    const cells = (method: string): (Cell | null)[] =>
      domains.map((domain) => domainCell(results, { dataset: id, method, domain }));
    return table(`Dataset: ${name}, model selection method: ${selection}`, labels, methods, cells, WIDTH);
  });
  const averages = table(
    `Averages, model selection method: ${selection}`,
    datasets.map(({ name }) => name),
    methods,
    (method) => datasets.map(({ id }) => datasetCell(results, { dataset: id, method })),
    AVERAGES_WIDTH,
  );
  return [...perDataset, ...averages];
}

function table(
  title: string,
  labels: readonly string[],
  methods: readonly string[],
  cellsOf: (method: string) => readonly (Cell | null)[],
  width: number,
): string[] {
  const rows = methods.map((method) => {
    const cells = cellsOf(method);
    return [method, ...cells.map((cell) => formatCell(cell)), formatAverage(cells)];
  });
  const toLine = (row: readonly string[]): string =>
    `${row.map((text) => text.padEnd(width).slice(0, width)).join("  ")} `;
  return ["", `-------- ${title}`, ...[["Algorithm", ...labels, "Avg"], ...rows].map(toLine)];
}

/** Names once each: those of the registry in its order, then the others as they appear. */
function inOrder(names: readonly string[], registry: readonly string[]): string[] {
  const present = new Set(names);
  return [...registry.filter((name) => present.has(name)), ...[...present].filter((name) => !registry.includes(name))];
}
