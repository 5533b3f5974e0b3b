/** The output of `nudge bench step`. */

import type { ProfileResult } from "../bench/profile.js";
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

/** Names of kernels can be hundreds of characters long; their beginnings and ends tell them apart. */
const shortened = (name: string): string => (name.length <= 110 ? name : `${name.slice(0, 70)} … ${name.slice(-37)}`);

/** A profile as a table with one line per kernel. */
export function profileText({ backbone, batch, device, ms, kernels }: ProfileResult): string {
  const total = kernels.reduce((sum, kernel) => sum + kernel.ms, 0);
  const launches = kernels.reduce((sum, kernel) => sum + kernel.launches, 0);
  return [
    `Kernels of one training step of ${backbone}, batch size ${batch}, ${device}: ${ms.toFixed(2)} ms per step`,
    "      ms   launches  kernel",
    ...kernels.map(
      (kernel) =>
        `${kernel.ms.toFixed(3).padStart(8)} ${kernel.launches.toFixed(0).padStart(10)}  ${shortened(kernel.name)}`,
    ),
    `${total.toFixed(3).padStart(8)} ${launches.toFixed(0).padStart(10)}  in total`,
  ].join("\n");
}
