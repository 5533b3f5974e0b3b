/** The output of `nudge bench runs`. */

import type { RunsBench } from "../bench/runs.js";

/** What has been measured, as lines: updates and an evaluation, then whole runs, sweeps and the peer. A later part adds lines. */
export function runsLines(result: RunsBench): string[] {
  const { dataset, algorithm, backbone, device, precision, pictures, isGenerated, single, sweeps, peer } = result;
  const made = isGenerated ? " (generated digits)" : "";
  const seconds = (value: number, digits = 1): string => `${value.toFixed(digits)} s`;
  const each = (
    count: number,
    what: string,
    { wall, device: gpu, launched }: Omit<RunsBench["evaluation"], "slowest">,
  ): string =>
    `  ${count} ${what}: ${seconds(wall, 3)}; launched after ${seconds(launched, 3)}; kernels ${seconds(gpu, 3)}`;
  const expected = ({ steps, evaluations }: { steps: number; evaluations: number }): number =>
    (result.updates.device * steps) / result.updates.count + result.evaluation.device * evaluations;
  const lines = [
    `Runs of ${backbone} with ${algorithm} on ${dataset}${made}, ${pictures} samples, ${device}, ${precision}`,
    each(result.updates.count, "updates", result.updates),
    each(1, "evaluation", result.evaluation),
    ...Object.entries(result.byBatch).map(([size, times]) => each(1, `evaluation in batches of ${size}`, times)),
  ];
  for (const [title, { slowest }] of [
    ["updates", result.updates],
    ["evaluation", result.evaluation],
  ] as const)
    for (const { name, count, seconds: time } of slowest.slice(0, 12))
      lines.push(
        `  ${title}: ${(1000 * time).toFixed(2).padStart(8)} ms ${String(count).padStart(6)} × ${name.slice(0, 110)}`,
      );
  for (const { wall, processor, training, ...run } of single)
    lines.push(
      `  one run of ${run.steps} updates and ${run.evaluations} evaluations: ${seconds(wall)} (${seconds(training)} from the first update to the last evaluation), processor time ${seconds(processor)}; its kernels take ${seconds(expected(run))}`,
    );
  for (const { runs, workers, wall, processor } of sweeps) {
    const kernels = runs * expected(single.at(-1)!);
    lines.push(
      `  ${runs} such runs by ${workers} process${workers === 1 ? "" : "es"}: ${seconds(wall)}, ${(wall / kernels).toFixed(2)} × the time of their kernels (${seconds(kernels)}); processor time ${seconds(processor / runs)} a run`,
    );
  }
  if (peer)
    lines.push(
      `  ${peer.title}${device === "cpu" ? "" : ", captured, samples on the device"}: ${result.updates.count} updates ${seconds(peer.updates, 3)}, 1 evaluation ${seconds(peer.evaluation, 3)} (${Object.entries(
        peer.byBatch,
      )
        .map(([size, time]) => `in batches of ${size} ${time.toFixed(3)}`)
        .join(", ")})`,
    );
  return lines;
}
