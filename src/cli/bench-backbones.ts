/** The output of `nudge bench backbones`. */

import type { BackbonesResult } from "../bench/backbones.js";

/** The benchmark as a table with one line per backbone. */
export function backbonesText(result: BackbonesResult): string {
  const { batch, device, threads, rows, way, peerTitle, peerWay, notes } = result;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const width = Math.max(8, ...rows.map(({ backbone }) => backbone.length));
  const cell = (value: number | undefined, digits: number, unit: string): string =>
    value === undefined ? "".padStart(11) : `${value.toFixed(digits)}${unit}`.padStart(11);
  return [
    `Time of one training step at batch size ${batch}, ${where}, minimum over rounds (nudge: ${way})`,
    `  ${"backbone".padEnd(width)}${"nudge".padStart(11)}${peerTitle ? `${"PyTorch".padStart(11)}${"speed-up".padStart(11)}` : ""}${device === "cpu" ? "" : "peak".padStart(11)}`,
    ...rows.map(({ backbone, ms, peerMs, ratio, peak }) =>
      `  ${backbone.padEnd(width)}${cell(ms, 1, " ms")}${peerTitle ? cell(peerMs, 1, " ms") + cell(ratio, 2, "×") : ""}${device === "cpu" ? "" : cell(peak === undefined ? undefined : peak / 1e9, 2, " GB")}`.trimEnd(),
    ),
    ...(peerTitle ? [`  ${peerTitle}: ${peerWay}`] : []),
    ...notes.map((note) => `  no PyTorch for ${note}`),
  ].join("\n");
}
