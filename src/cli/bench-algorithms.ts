/** The output of `nudge bench step --algorithm`. */

import { type AlgorithmCost, type AlgorithmsResult, costOf, type Passes } from "../bench/algorithms.js";

/** The columns of the table. */
export const COST_COLUMNS = [
  "algorithm",
  "ms",
  "time / ERM",
  "GB",
  "memory / ERM",
  "passes",
  "PyTorch's",
  "time / passes",
];

/** The benchmark as a table with one line per algorithm. */
export function algorithmsText(result: AlgorithmsResult): string {
  const { backbone, batch, domains, device, precision, threads, repeats, rows, byDomainRatio } = result;
  const where = device === "cpu" ? `${threads} CPU thread${threads === 1 ? "" : "s"}` : device;
  const cells = [COST_COLUMNS, ...rows.map(costCells)];
  const widths = COST_COLUMNS.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("   ")}`;
  const plain = rows.filter(({ replayed }) => replayed === false).map(({ title }) => title);
  const byDomain = rows.filter((row) => row.byDomain).map(({ title }) => title);
  const saved = rows.filter((row) => row.saved !== undefined);
  return [
    `Time of one update of each algorithm: ${backbone}${precision === "float32" ? "" : ` in ${precision}`}, ${domains} domains of ${batch}, ${where}, ${repeats} rounds, each alternating with ERM`,
    ...cells.map(line),
    `  ms: the minimum of the rounds; time / ERM: the median of the ratios of the rounds${device === "cpu" ? ", in CPU time" : ""}`,
    "  passes: forward + backward passes of the backbone per update, in full batches; PyTorch's: the passes in the public code",
    "  time / passes: the time relative to ERM's, divided by the passes relative to ERM's; a backward pass counts as two forward passes",
    ...(byDomainRatio === undefined
      ? []
      : [
          `  one domain per pass: ${byDomain.join(", ")}; ${domains} updates of ERM with one domain each take ${byDomainRatio.toFixed(2)}× the time of one with all`,
        ]),
    ...(plain.length > 0 ? [`  not captured as CUDA graphs: ${plain.join(", ")}`] : []),
    ...(saved.length > 0 ? ["  passes saved relative to the public code:"] : []),
    ...saved.map(({ title, saved }) => `    ${title}: ${saved}`),
  ].join("\n");
}

/** The cells of an algorithm in these columns. */
export function costCells({ title, ms, ratio, peak, ermPeak, passes, reference }: AlgorithmCost): string[] {
  const times = (ratio: number): string => `${ratio.toFixed(2)}×`;
  return [
    title,
    ms.toFixed(1),
    times(ratio),
    (peak / 1e9).toFixed(3),
    times(peak / ermPeak),
    passesText(passes),
    passesText(reference),
    times(ratio / costOf(passes)),
  ];
}

const passesText = ({ forward, backward }: Passes): string =>
  `${Number(forward.toFixed(2))} + ${Number(backward.toFixed(2))}`;
