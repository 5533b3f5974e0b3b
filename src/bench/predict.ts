/**
 * Measures predictions from picture files on the CPU: ours, and those of onnxruntime with the exported model. Both decode with the
 * same code and decode the next batch while the network runs, so only the networks differ. Rounds alternate, and besides the time
 * on the clock the processor time is measured, which other work on the machine changes less.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "../analysis/evaluation.js";
import { inOrder, slices } from "../data/in-order.js";
import { findPictures } from "../data/named-pictures.js";
import { givenPictures, type PictureInput, plainTensor } from "../data/sample-source.js";
import { threads } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { exportOnnx } from "../export/index.js";
import { loadModel, type Model } from "../model/index.js";

export interface PredictBenchOptions {
  /** A model file, or the folder of a run. */
  model: string;
  /** Files and folders of pictures. */
  pictures: readonly string[];
  /** At most this number of pictures is used. */
  limit: number;
  repeats: number;
}

/** Milliseconds per picture. */
export interface PredictTimes {
  /** The minimum over the rounds, and the median. */
  ms: number;
  medianMs: number;
  /** The median of the processor time of all threads. */
  cpuMs: number;
}

export interface PredictBench {
  backbone: string;
  pictures: number;
  threads: number;
  repeats: number;
  /** From files to probabilities. */
  fromFiles: { ours: PredictTimes; onnxruntime?: PredictTimes };
  /** The network alone, on pictures that are decoded already. */
  network: { ours: PredictTimes; onnxruntime?: PredictTimes };
  /** The largest difference between the logits of the two, relative to the largest logit. */
  difference?: number;
  /** Why onnxruntime was not measured. */
  note?: string;
}

/** The pictures per pass, as in `nudge predict`. */
const BATCH = 64;

/** A network that takes a batch and returns logits, one row after the other. */
type Run = (x: Tensor) => Promise<Float32Array>;

export async function benchPredict({
  model: path,
  pictures,
  limit,
  repeats,
}: PredictBenchOptions): Promise<PredictBench> {
  const found = (await findPictures(pictures)).pictures.map(({ input }) => input);
  if (found.length === 0) throw new UsageError(`bench predict: no pictures in ${pictures.join(", ")}`);
  const inputs = found.slice(0, limit);
  using model = await loadModel(path);
  const ours: Run = async (x) => {
    const { logits, features } = await model.forwardAside(x);
    const data = logits.data() as Float32Array;
    for (const each of [logits, features]) each.dispose();
    return data;
  };
  const peer = await onnxruntimeOf(model);
  const runs = [ours, ...(typeof peer === "string" ? [] : [peer])];
  const files = await rounds(
    runs.map((run, i) => () => fromFiles(model, inputs, { run, channelsLast: i === 0 && model.network.hasPlan })),
    { count: inputs.length, repeats },
  );
  const [last] = slices(inputs, BATCH);
  const batches = await Promise.all(
    runs.map((_, i) => decoded(model, last, { channelsLast: i === 0 && model.network.hasPlan })),
  );
  const network = await rounds(
    runs.map((run, i) => () => run(batches[i])),
    { count: last.length, repeats },
  );
  const [own, other] = [await ours(batches[0]), typeof peer === "string" ? undefined : await peer(batches[1])];
  for (const each of batches) each.dispose();
  return {
    ...{ backbone: model.about.backbone, pictures: inputs.length, threads: threads(), repeats },
    fromFiles: { ours: files[0], ...(files[1] && { onnxruntime: files[1] }) },
    network: { ours: network[0], ...(network[1] && { onnxruntime: network[1] }) },
    ...(other ? { difference: differenceOf(own, other) } : { note: peer as string }),
  };
}

function differenceOf(one: Float32Array, other: Float32Array): number {
  const scale = other.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return one.reduce((most, value, i) => Math.max(most, Math.abs(value - other[i])), 0) / scale;
}

/** Runs each kind of work in turn, and once before that to warm up. */
async function rounds(
  works: readonly (() => Promise<unknown>)[],
  { count, repeats }: { count: number; repeats: number },
): Promise<PredictTimes[]> {
  const measured = works.map(() => ({ wall: [] as number[], cpu: [] as number[] }));
  for (let round = 0; round <= repeats; round++)
    for (const [i, work] of works.entries()) {
      const [cpu, start] = [process.cpuUsage(), performance.now()];
      await work();
      const wall = performance.now() - start;
      const { user, system } = process.cpuUsage(cpu);
      if (round === 0) continue;
      measured[i].wall.push(wall / count);
      measured[i].cpu.push((user + system) / 1000 / count);
    }
  return measured.map(({ wall, cpu }) => ({
    ...{ ms: Math.min(...wall), medianMs: median(wall)!, cpuMs: median(cpu)! },
  }));
}

const sourceOf = (model: Model, inputs: readonly PictureInput[], channelsLast: boolean) => {
  const { preprocessing } = model.about;
  if (preprocessing.kind !== "pictures") throw new UsageError(`bench predict: ${model.path} does not take pictures`);
  return givenPictures(inputs, { ...preprocessing, upright: true, channelsLast });
};

async function fromFiles(
  model: Model,
  inputs: readonly PictureInput[],
  { run, channelsLast }: { run: Run; channelsLast: boolean },
): Promise<void> {
  const source = sourceOf(model, inputs, channelsLast);
  const all = inputs.map((_, index) => ({ domain: 0, index }));
  for await (const { found } of inOrder(slices(all, BATCH), source)) {
    using x = plainTensor(source, found);
    if (x) await run(x);
  }
}

/** One batch. */
async function decoded(
  model: Model,
  inputs: readonly PictureInput[],
  { channelsLast }: { channelsLast: boolean },
): Promise<Tensor> {
  const source = sourceOf(model, inputs, channelsLast);
  for await (const { found } of inOrder([inputs.map((_, index) => ({ domain: 0, index }))], source)) {
    const x = plainTensor(source, found);
    if (x) return x;
  }
  throw new UsageError("bench predict: none of the first pictures can be decoded");
}

/** The exported model in onnxruntime, with as many threads as we have; or why there is none. */
async function onnxruntimeOf(model: Model): Promise<Run | string> {
  const name = "onnxruntime-node"; // not a dependency of the package
  let runtime: typeof import("onnxruntime-node");
  try {
    runtime = await import(name);
  } catch {
    return "onnxruntime was not measured: it is not installed (npm install onnxruntime-node)";
  }
  const { InferenceSession, Tensor: OnnxTensor } = runtime;
  const folder = mkdtempSync(join(tmpdir(), "nudge-predict-bench-"));
  try {
    const file = join(folder, "model.onnx");
    exportOnnx(model, file);
    const session = await InferenceSession.create(file, { intraOpNumThreads: threads() });
    return async (x) => {
      const input = new OnnxTensor("float32", x.data() as Float32Array, x.shape);
      const { logits } = await session.run({ [session.inputNames[0]]: input });
      return logits.data as Float32Array;
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
