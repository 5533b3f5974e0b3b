/** The output of `nudge bench train`. */

import type { TrainBench } from "../bench/train.js";

/** The benchmark as text: one line for NUDGE and one for DomainBed's loop, for the step and for the evaluation. */
export function trainText(result: TrainBench): string {
  const { dataset, pictures, method, backbone, weights, device, threads, precision, batch, steps, ours, peer } = result;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const name = `DomainBed's loop, ${peer?.workers} workers per loader`;
  const width = Math.max("nudge".length, peer ? name.length : 0);
  const line = (title: string, value: string, ratio: number | undefined): string =>
    `  ${title.padEnd(width)}${value.padStart(14)}${ratio === undefined ? "" : `${ratio.toFixed(2).padStart(8)}×`}`;
  const [ms, seconds] = [(value: number) => `${value.toFixed(1)} ms`, (value: number) => `${value.toFixed(2)} s`];
  const lines = [
    `Training ${backbone} with ${method}, ${weights} weights, frozen batch norm, on ${dataset} (${pictures} pictures, ${result.testDomain} held out), ${where}`,
    `One step on ${batch} pictures, from files to updated weights: mean of ${steps} steps; NUDGE in ${precision}`,
    line("nudge", ms(ours.stepMs), peer?.stepRatio),
    ...(peer ? [line(name, ms(peer.stepMs), 1)] : []),
    `  ${dataText(ours)}: ${storeText(ours)}${ours.replayed ? "; updates are replayed as a CUDA graph" : ""}`,
    `One evaluation of all splits of all domains (the second one is timed)`,
    line("nudge", seconds(ours.evaluationSeconds), peer?.evaluationRatio),
    ...(peer ? [line(name, seconds(peer.evaluationSeconds), 1)] : []),
    `  nudge evaluates ${ours.evaluationRate.toFixed(0)} pictures per second${launchText(ours)}`,
  ];
  if (peer) lines.push(`  DomainBed's loop runs in float32, eager mode, with ${peer.title}`);
  return [...lines, ...ours.notes.map((note) => `  ${note}`)].join("\n");
}

/**
 * The cost of data loading. While a GPU computes a step, the host prepares the next batch, so the host's time does not
 * add to the step.
 */
function dataText({ stepMs, waitMs, updateMs, share, storeDevice }: TrainBench["ours"]): string {
  if (storeDevice === "cpu")
    return `nudge waits ${waitMs.toFixed(1)} ms of its step for data (${(share * 100).toFixed(1)} %)`;
  const meanwhile = `the host prepares the next batch in ${waitMs.toFixed(1)} ms while the GPU computes`;
  if (updateMs === undefined) return meanwhile;
  return `the update alone takes ${updateMs.toFixed(1)} ms, so data loading adds ${Math.max(0, stepMs - updateMs).toFixed(1)} ms; ${meanwhile}`;
}

/** If the host has launched everything long before the GPU has finished, the GPU never waits for it. */
const launchText = ({ launchSeconds }: TrainBench["ours"]): string =>
  launchSeconds === undefined ? "" : `; the host has launched all of it after ${launchSeconds.toFixed(2)} s`;

function storeText({ store, storeDevice }: TrainBench["ours"]): string {
  if (store === "memory")
    return `decoded pictures are in the memory of ${storeDevice === "cpu" ? "the machine" : storeDevice}`;
  return store === "file" ? "decoded pictures are read from the cache file" : "pictures are decoded each time";
}
