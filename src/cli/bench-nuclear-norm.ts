/** What `nudge bench nuclear-norm` prints. */

import type { NuclearNormBench, ShapeTimes } from "../bench/nuclear-norm.js";

/** The benchmark as a table, a line a shape. */
export function nuclearNormText({ device, threads, repeats, peerTitle, shapes }: NuclearNormBench): string {
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const names = shapes[0]?.routes.map(({ route, automatic }) => (automatic ? `${route}*` : route)) ?? [];
  const header = ["features", "torch.svd", ...(peerTitle ? ["in Python"] : []), ...names];
  const rows = [header, ...shapes.map(shapeCells)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) => `  ${row.map((cell, i) => cell.padStart(widths[i])).join("   ")}`);
  const errors = shapes.flatMap(({ routes }) => routes.map(({ valueError }) => valueError));
  return [
    `the nuclear norm's value and gradient, ${where}, minimum of ${repeats} rounds in turn`,
    ...lines.map((line) => line.trimEnd()),
    `  × is how many times as fast as torch.svd, forward and backward, in this run${peerTitle ? `; in Python: ${peerTitle}` : ""}`,
    `  * is the route taken by default here; values are within ${Math.max(...errors).toExponential(1)} of a float64 SVD's`,
  ].join("\n");
}

function shapeCells({ rows, width, svdMs, peerMs, routes }: ShapeTimes): string[] {
  const cell = (ms: number, ratio: number): string => `${ms.toFixed(2)} ms ${`${ratio.toFixed(1)}×`.padStart(6)}`;
  return [
    `${rows} × ${width}`,
    `${svdMs.toFixed(2)} ms`,
    ...(peerMs === undefined ? [] : [`${peerMs.toFixed(2)} ms`]),
    ...routes.map(({ ms, ratio }) => cell(ms, ratio)),
  ];
}
