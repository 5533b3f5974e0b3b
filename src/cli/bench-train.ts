/** What `nudge bench train` prints. */

import type { TrainBench } from "../bench/train.js";

/** The benchmark in words: a line for us and one for the peer, for the step and for the evaluation. */
export function trainText(result: TrainBench): string {
  const { dataset, pictures, method, backbone, weights, device, threads, precision, batch, steps, ours, peer } = result;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const name = `DomainBed's loop, ${peer?.workers} workers a loader`;
  const width = Math.max("nudge".length, peer ? name.length : 0);
  const line = (title: string, value: string, ratio: number | undefined): string =>
    `  ${title.padEnd(width)}${value.padStart(14)}${ratio === undefined ? "" : `${ratio.toFixed(2).padStart(8)}×`}`;
  const [ms, seconds] = [(value: number) => `${value.toFixed(1)} ms`, (value: number) => `${value.toFixed(2)} s`];
  const lines = [
    `training ${backbone} by ${method}, ${weights} weights, frozen batch norm, on ${dataset} (${pictures} pictures, ${result.testDomain} held out), ${where}`,
    `a step on ${batch} pictures, from files to updated weights, the mean of ${steps}; we in ${precision}`,
    line("nudge", ms(ours.stepMs), peer?.stepRatio),
    ...(peer ? [line(name, ms(peer.stepMs), 1)] : []),
    `  ${dataText(ours)}: ${storeText(ours)}${ours.replayed ? "; updates are replayed as a CUDA graph" : ""}`,
    `an evaluation of all splits of all domains, the second one`,
    line("nudge", seconds(ours.evaluationSeconds), peer?.evaluationRatio),
    ...(peer ? [line(name, seconds(peer.evaluationSeconds), 1)] : []),
    `  we evaluate ${ours.evaluationRate.toFixed(0)} pictures a second`,
  ];
  if (peer) lines.push(`  the peer is in float32, eager, with ${peer.title}`);
  return [...lines, ...ours.notes.map((note) => `  ${note}`)].join("\n");
}

/** What data cost. While a GPU works on a step, the host makes the next batch ready: its time is not the step's. */
function dataText({ stepMs, waitMs, updateMs, share, storeDevice }: TrainBench["ours"]): string {
  if (storeDevice === "cpu")
    return `of ours, ${waitMs.toFixed(1)} ms are waiting for data (${(share * 100).toFixed(1)} %)`;
  const meanwhile = `the host takes ${waitMs.toFixed(1)} ms to start the next batch while the GPU works`;
  if (updateMs === undefined) return meanwhile;
  return `an update alone takes ${updateMs.toFixed(1)} ms, so data ${Math.max(0, stepMs - updateMs).toFixed(1)} ms; ${meanwhile}`;
}

function storeText({ store, storeDevice }: TrainBench["ours"]): string {
  if (store === "memory")
    return `decoded pictures are in the memory of ${storeDevice === "cpu" ? "the machine" : storeDevice}`;
  return store === "file" ? "decoded pictures are read from the cache file" : "pictures are decoded each time";
}
