/** The output of `nudge bench sweep`. */

import type { ParallelSweepBench, SweepBench } from "../bench/sweep.js";

/** The benchmark as text: the whole sweep, then the overhead of a run besides its updates and evaluations. */
export function sweepText(result: SweepBench): string {
  const { dataset, algorithm, backbone, device, precision, threads, steps, evaluateEvery, runs, seconds, lost } =
    result;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const line = (title: string, value: number, note = ""): string =>
    `  ${title.padEnd(50)}${value.toFixed(1).padStart(9)} s${note}`;
  const sum = (of: (run: SweepBench["runs"][number]) => number): number => runs.reduce((all, run) => all + of(run), 0);
  const training = sum((run) => run.training);
  const evaluations = sum((run) => run.evaluations);
  return [
    `A sweep of ${runs.length} runs of ${algorithm} on ${dataset}, ${backbone} in ${precision}, ${steps} steps, an evaluation every ${evaluateEvery}, one process, ${where}`,
    line("all runs", seconds),
    line("updates", training - evaluations),
    line("evaluations", evaluations),
    line("everything else", seconds - training, `  (${(100 * lost.share).toFixed(1)} %)`),
    line("everything else, first run", lost.first),
    line("everything else, mean of the other runs", lost.others),
  ].join("\n");
}

/** The benchmark of a sweep that several processes execute. */
export function parallelSweepText(result: ParallelSweepBench): string {
  const { dataset, algorithm, backbone, device, precision, steps, evaluateEvery, workers, runs, seconds } = result;
  const processes = workers === 1 ? "one process" : `${workers} processes at a time`;
  return [
    `A sweep of ${runs} runs of ${algorithm} on ${dataset}, ${backbone} in ${precision}, ${steps} steps, an evaluation every ${evaluateEvery}, ${processes}, ${device}`,
    `  all runs, with the start of the processes ${seconds.toFixed(1).padStart(9)} s`,
    `  divided by the number of runs             ${(seconds / runs).toFixed(1).padStart(9)} s`,
  ].join("\n");
}
