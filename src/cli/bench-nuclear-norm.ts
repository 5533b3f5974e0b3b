/** The output of `nudge bench nuclear-norm`. */

import type { NuclearNormBench, ShapeTimes, WayTime } from "../bench/nuclear-norm.js";

/** The benchmark as a table with one line per shape. */
export function nuclearNormText({ device, threads, repeats, peerTitle, shapes }: NuclearNormBench): string {
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const names = shapes[0]?.routes.map(({ route, automatic }) => (automatic ? `${route}*` : route)) ?? [];
  const graph = shapes.some(({ captured }) => captured !== undefined);
  const header = [
    "features",
    "torch.svd",
    ...(peerTitle ? ["in Python"] : []),
    ...names,
    ...(graph ? ["captured"] : []),
  ];
  const rows = [header, ...shapes.map(shapeCells)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) => `  ${row.map((cell, i) => cell.padStart(widths[i])).join("   ")}`);
  const ways = shapes.flatMap(({ routes, captured }): WayTime[] => (captured ? [...routes, captured] : routes));
  const errors = ways.map(({ valueError }) => valueError);
  return [
    `Time of the nuclear norm's value and gradient, ${where}, minimum of ${repeats} alternating rounds`,
    ...lines.map((line) => line.trimEnd()),
    `  ×: speed-up over torch.svd, forward and backward, in this run${peerTitle ? `; in Python: ${peerTitle}` : ""}`,
    `  *: the default method for this shape; all values are within ${Math.max(...errors).toExponential(1)} of a float64 SVD`,
    ...(graph
      ? [
          "  captured: newton-schulz with a fixed number of iterations in a CUDA graph, as in training; the mean of ten consecutive replays",
        ]
      : []),
  ].join("\n");
}

function shapeCells({ rows, width, svdMs, peerMs, routes, captured }: ShapeTimes): string[] {
  const cell = (ms: number, ratio: number): string => `${ms.toFixed(2)} ms ${`${ratio.toFixed(1)}×`.padStart(6)}`;
  return [
    `${rows} × ${width}`,
    `${svdMs.toFixed(2)} ms`,
    ...(peerMs === undefined ? [] : [`${peerMs.toFixed(2)} ms`]),
    ...[...routes, ...(captured ? [captured] : [])].map(({ ms, ratio }) => cell(ms, ratio)),
  ];
}
