/** The output of `nudge bench start`. */

import type { StartResult, StartTimes } from "../bench/start.js";

/** The columns: what is timed, in the order in which it happens. */
const COLUMNS: readonly (readonly [title: string, seconds: (times: StartTimes) => number])[] = [
  ["engine", ({ engine }) => engine],
  ["device", ({ device }) => device],
  ["kernels", ({ kernels }) => kernels],
  ["network", ({ network }) => network],
  ["forward", ({ firstForward }) => firstForward],
  ["backward", ({ firstBackward }) => firstBackward],
  ["step 2", ({ secondStep }) => secondStep],
  ["eval 256", ({ evaluation }) => evaluation],
  ["capture", ({ capture }) => capture],
  ["first step", ({ kernels, firstForward, firstBackward }) => kernels + firstForward + firstBackward],
];

/** The benchmark as a table with one line per way of planning convolutions. */
export function startText({ backbone, batch, device, precision, rows }: StartResult): string {
  const header = ["seconds", ...COLUMNS.map(([title]) => title), "ms per step"];
  const cells = rows.map(({ title, times }) => [
    title,
    ...COLUMNS.map(([, seconds]) => seconds(times).toFixed(2)),
    times.stepMs.toFixed(2),
  ]);
  const all = [header, ...cells];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("   ")}`;
  return [
    `The start of a process: ${backbone} in ${precision}, batch size ${batch}, ${device}, one process per line`,
    ...all.map(line),
    "  first step: kernels + forward + backward; ms per step: captured on a GPU, the minimum of the rounds",
  ].join("\n");
}
