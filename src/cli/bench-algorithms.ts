/** What `nudge bench step --algorithm` prints. */

import type { AlgorithmCost, AlgorithmsResult, Passes } from "../bench/algorithms.js";

/** The benchmark as a table, a line an algorithm. */
export function algorithmsText({ backbone, batch, domains, device, threads, repeats, rows }: AlgorithmsResult): string {
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const header = ["algorithm", "ms", "time / ERM", "GB", "memory / ERM", "passes", "PyTorch's"];
  const cells = [header, ...rows.map(costCells)];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("   ")}`;
  const saved = rows.filter((row) => row.saved !== undefined);
  return [
    `one update of each algorithm, ${backbone}, ${domains} domains of ${batch}, ${where}, minimum of ${repeats} rounds in turn with ERM`,
    ...cells.map(line),
    "  passes: the backbone's forward + backward runs an update, in whole batches; PyTorch's: those of the public code",
    ...(saved.length > 0 ? ["  saved against the public code:"] : []),
    ...saved.map(({ title, saved }) => `    ${title}: ${saved}`),
  ].join("\n");
}

function costCells({ title, ms, ermMs, peak, ermPeak, passes, reference }: AlgorithmCost): string[] {
  const times = (ratio: number): string => `${ratio.toFixed(2)}×`;
  return [
    title,
    ms.toFixed(1),
    times(ms / ermMs),
    (peak / 1e9).toFixed(3),
    times(peak / ermPeak),
    passesText(passes),
    passesText(reference),
  ];
}

const passesText = ({ forward, backward }: Passes): string =>
  `${Number(forward.toFixed(2))} + ${Number(backward.toFixed(2))}`;
