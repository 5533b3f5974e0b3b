/**
 * Measures a training step (forward, cross-entropy, backward, Adam) of a backbone with a linear head: our ways of running it and
 * those of PyTorch. They alternate in one run, and the minimum over the rounds is reported, because it is least affected by
 * noise.
 */

import { readFileSync } from "node:fs";
import { backboneNamed } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { memory, resetPeakMemory, synchronize, threads } from "../engine/device.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { crossEntropy, Linear, type Precision, withPrecision } from "../nn/index.js";
import { Adam } from "../optim/index.js";
import { Peer } from "./peer.js";

/** A way of running the step. */
export interface Way {
  title: string;
  fold: boolean;
  channelsLast: boolean;
  precision: Precision;
  graph: boolean;
}

const CPU_WAYS: Way[] = [
  { title: "plain", fold: false, channelsLast: false, precision: "float32", graph: false },
  { title: "folded batch norm", fold: true, channelsLast: false, precision: "float32", graph: false },
  { title: "folded, channels last", fold: true, channelsLast: true, precision: "float32", graph: false },
];

const CUDA_WAYS: Way[] = [
  { title: "plain", fold: false, channelsLast: false, precision: "float32", graph: false },
  { title: "bf16, channels last", fold: false, channelsLast: true, precision: "bf16", graph: false },
  { title: "bf16, channels last, folded", fold: true, channelsLast: true, precision: "bf16", graph: false },
  { title: "the same, captured graph", fold: true, channelsLast: true, precision: "bf16", graph: true },
];

export interface StepOptions {
  backbone: string;
  batch: number;
  device: string;
  peer?: string;
  repeats: number;
  /** On a GPU, also time PyTorch with torch.compile, without and with a CUDA graph. Each takes a minute to compile. */
  compile?: boolean;
}

export interface StepRow {
  title: string;
  /** Milliseconds per step: the minimum over the rounds. */
  ms: number;
  /** The peak memory in bytes: of tensors on a GPU, or resident memory on the CPU (only for the first way and the peer). */
  peak?: number;
  /** The speed relative to PyTorch in eager mode. */
  ratio?: number;
  /** The command that trains in this way, if there is one. */
  command?: string;
}

export interface StepResult {
  backbone: string;
  batch: number;
  device: string;
  threads: number;
  ours: StepRow[];
  peer: StepRow[];
  peerTitle?: string;
  /** The ways of the peer that failed, and why: an older PyTorch cannot compile or capture. */
  notes?: string[];
}

const INPUT_SHAPE = [3, 224, 224] as const;

/** The number of steps per measurement: on a GPU large enough that the synchronization at the end is negligible. */
export const stepsAtOnce = (device: string): number => (device === "cpu" ? 1 : 10);

export async function benchStep(options: StepOptions): Promise<StepResult> {
  const { device, repeats } = options;
  const gpu = device !== "cpu";
  const ways = waysOf(options);
  const ours = ways.map(({ title, command }) => ({ ...row(title), command }));
  const variants = !gpu ? ["eager"] : options.compile ? ["eager", "bf16", "compile", "graph"] : ["eager", "bf16"];
  const theirs = options.peer === undefined ? [] : variants.map((variant) => row(PEER_TITLES[variant]));
  let peerTitle: string | undefined;
  const notes: string[] = [];
  // Each way is built, timed and disposed of before the next one, so that peaks do not add up. Rounds alternate with those of the peer.
  for (const [i, way] of ways.entries()) {
    const started = options.peer === undefined ? undefined : await Peer.start(options.peer, threads());
    peerTitle = started?.title;
    using peer = started?.peer;
    const variant = variants[i];
    const { backbone, batch } = options;
    const able = peer && (await isAble(peer, { backbone, batch, device, variant: variant ?? "eager" }, notes));
    using runner = new StepRunner(options, way);
    const target = theirs[variant === undefined ? 0 : i];
    for (let round = 0; round <= repeats; round++) {
      const ms = runner.run();
      const peerMs = able && (await peer.ask<{ ms: number }>({ do: "run", steps: stepsAtOnce(device) })).ms;
      if (round === 0) continue; // warm-up
      ours[i].ms = Math.min(ours[i].ms, ms);
      if (typeof peerMs === "number") target.ms = Math.min(target.ms, peerMs);
    }
    ours[i].peak = gpu ? memory(device).peak : i === 0 ? peakResident() : undefined;
    if (able && variant !== undefined) target.peak = (await peer.ask<{ peak: number }>({ do: "memory" })).peak;
  }
  const timed = theirs.filter(({ ms }) => Number.isFinite(ms));
  for (const each of [...ours, ...timed]) if (timed.length > 0) each.ratio = timed[0].ms / each.ms;
  const { backbone, batch } = options;
  return { backbone, batch, device, threads: threads(), ours, peer: timed, peerTitle, notes };
}

/** Asks the peer to prepare its step. Only the first way must succeed; failures of the others are noted. */
async function isAble(
  peer: Peer,
  request: { variant: string; [key: string]: unknown },
  notes: string[],
): Promise<boolean> {
  try {
    await peer.ask({ do: "step", ...request });
    return true;
  } catch (error) {
    if (request.variant === "eager" || !(error instanceof Error)) throw error;
    notes.push(`${PEER_TITLES[request.variant]}: ${error.message.split("\n")[0]}`);
    return false;
  }
}

export const PEER_TITLES: Record<string, string> = {
  eager: "PyTorch eager, as DomainBed runs it",
  bf16: "PyTorch bf16, channels last, fused Adam",
  compile: "PyTorch torch.compile of that",
  graph: "PyTorch, the compiled step as one CUDA graph",
};

/** The `nudge train` command that runs a step in this way. It always folds, selects the layout and, on a GPU, captures a graph; undefined for other ways. */
function commandFor(
  { fold, channelsLast, precision, graph }: Way,
  { backbone, device }: Pick<StepOptions, "backbone" | "device">,
): string | undefined {
  const layout = usesChannelsLast({ backbone, inputShape: INPUT_SHAPE, device, precision });
  if (!fold || channelsLast !== layout || graph !== (device !== "cpu")) return undefined;
  return precision === "float32" ? "nudge train" : `nudge train --precision ${precision}`;
}

/** The ways to run a step on a device, each with the command that trains in this way, if there is one. */
export const waysOf = (
  options: Pick<StepOptions, "backbone" | "device">,
): (Way & { readonly command: string | undefined })[] =>
  (options.device === "cpu" ? CPU_WAYS : CUDA_WAYS).map((way) => ({ ...way, command: commandFor(way, options) }));

const row = (title: string): StepRow => ({ title, ms: Number.POSITIVE_INFINITY });

/** Peak resident memory of this process so far, in bytes. */
function peakResident(): number {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1]) * 1024;
}

/** One way of running the step, ready to be timed. */
export class StepRunner implements Disposable {
  private readonly x: Tensor;
  private readonly y: Tensor;
  private readonly parts: Disposable[] = [];
  private readonly once: () => void;

  constructor(
    private readonly options: Pick<StepOptions, "backbone" | "batch" | "device">,
    way: Way,
  ) {
    const { batch, device } = options;
    const random = new Random(0, ["bench"]);
    const backbone = backboneNamed(options.backbone).build({ foldBatchNorm: way.fold });
    const head = new Linear(backbone.width, 7);
    const memoryFormat = way.channelsLast ? "channels_last" : "contiguous";
    for (const module of [backbone, head]) module.initialize(random).to({ device, memoryFormat }).train();
    const optimizer = new Adam([...backbone.parameters(), ...head.parameters()], { lr: 5e-5 });
    this.x = scope(() =>
      random
        .for("x")
        .normal_(empty([batch, ...INPUT_SHAPE], { device }))
        .to({ memoryFormat }),
    );
    this.y = tensor(
      Array.from({ length: batch }, (_, i) => i % 7),
      { dtype: "int64", device },
    );
    this.parts.push(backbone, head, optimizer, this.x, this.y);
    resetPeakMemory(device);
    const step = (): void =>
      scope(() => {
        const logits = withPrecision(way.precision, () => head.forward(backbone.forward(this.x)));
        const loss = crossEntropy(logits, this.y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
      });
    if (!way.graph) {
      this.once = step;
      return;
    }
    for (let i = 0; i < 3; i++) step();
    const graph = CudaGraph.capture(device, step);
    this.parts.unshift(graph);
    this.once = () => graph.replay();
  }

  /** Milliseconds per step. */
  run(): number {
    const steps = stepsAtOnce(this.options.device);
    synchronize(this.options.device);
    const start = performance.now();
    for (let i = 0; i < steps; i++) this.once();
    synchronize(this.options.device);
    return (performance.now() - start) / steps;
  }

  [Symbol.dispose](): void {
    for (const part of this.parts) part[Symbol.dispose]();
  }
}
