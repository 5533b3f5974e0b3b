/** The output of `nudge bench step`. */

import type { StepResult, StepRow } from "../bench/step.js";

/** The benchmark as a table with one line per way of running the step. */
export function stepText({ backbone, batch, device, threads, ours, peer, peerTitle, notes = [] }: StepResult): string {
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const mine = ours.map((row) => ({ ...row, title: `nudge: ${row.title}${row.command === undefined ? "" : "*"}` }));
  const all = [...mine, ...peer];
  const width = Math.max(...all.map(({ title }) => title.length));
  const line = ({ title, ms, ratio, peak }: StepRow): string =>
    [
      `  ${title.padEnd(width)}`,
      `${ms.toFixed(1).padStart(9)} ms`,
      ratio === undefined ? "" : `${ratio.toFixed(2).padStart(6)}×`,
      peak === undefined ? "" : `   peak ${(peak / 1e9).toFixed(2)} GB`,
    ].join("");
  const commands = ours.flatMap(({ command }) => (command === undefined ? [] : `  *: used by ${command}`));
  const note = peerTitle && `  ×: speed-up over PyTorch eager mode (${peerTitle})`;
  const title = `Time of one training step of ${backbone}, batch size ${batch}, ${where}, minimum over rounds`;
  return [title, ...all.map(line), ...commands, note, ...notes.map((each) => `  ${each}`)].filter(Boolean).join("\n");
}
