/**
 * Measures the training steps of many backbones as `nudge train` runs them, each next to the fastest step of PyTorch: on a GPU
 * torch.compile with the whole step in one CUDA graph (bf16, channels last, fused Adam), on the CPU eager mode. Several peers
 * compile at the same time. They are timed one after the other, and each alternates with our step.
 */

import { backboneNamed, backbones } from "../backbones/index.js";
import { memory, threads } from "../engine/device.js";
import { Peer } from "./peer.js";
import { PEER_TITLES, StepRunner, stepsAtOnce, waysOf } from "./step.js";

export interface BackbonesOptions {
  /** Comma-separated ids of backbones that take pictures, or `all`. */
  backbones: readonly string[] | "all";
  batch: number;
  device: string;
  peer?: string;
  repeats: number;
  /** Called before each backbone is timed. */
  onStart?: (backbone: string) => void;
}

export interface BackboneRow {
  backbone: string;
  /** Milliseconds of a training step: the minimum over the rounds. */
  ms: number;
  /** The peak memory of tensors in bytes, on a GPU. */
  peak?: number;
  /** The same for PyTorch; absent if it was not requested or failed. */
  peerMs?: number;
  /** The speed relative to PyTorch. */
  ratio?: number;
}

export interface BackbonesResult {
  batch: number;
  device: string;
  threads: number;
  /** How our step and the step of the peer are run. */
  way: string;
  peerWay?: string;
  peerTitle?: string;
  rows: BackboneRow[];
  /** Why some backbones have no peer. */
  notes: string[];
}

/** The number of peers that compile at the same time. Each needs a core and its own memory on the GPU. */
const TOGETHER = 4;

/** Backbones with published weights, which therefore take pictures of 224 pixels. */
const withWeights = (): string[] => Object.keys(backbones).filter((id) => backboneNamed(id).weights !== undefined);

export async function benchBackbones(options: BackbonesOptions): Promise<BackbonesResult> {
  const { batch, device, repeats, onStart } = options;
  const ids = options.backbones === "all" ? withWeights() : options.backbones;
  for (const id of ids) backboneNamed(id); // an unknown name is an error before anything is timed
  const variant = device === "cpu" ? "eager" : "graph";
  const notes: string[] = [];
  const rows: BackboneRow[] = [];
  let [peerTitle, title]: (string | undefined)[] = [];
  for (let from = 0; from < ids.length; from += TOGETHER) {
    const some = ids.slice(from, from + TOGETHER);
    const ready = await Promise.all(some.map((backbone) => startPeer(options, { backbone, batch, device, variant })));
    using _ = together(ready.flatMap(({ peer }) => peer ?? []));
    for (const [i, backbone] of some.entries()) {
      onStart?.(backbone);
      const { peer, title: found, problem } = ready[i];
      peerTitle ??= found;
      if (problem !== undefined) notes.push(`${backbone}: ${problem}`);
      const way = waysOf({ backbone, device }).find(({ command }) => command !== undefined)!;
      title ??= way.title;
      using runner = new StepRunner({ backbone, batch, device }, way);
      const row: BackboneRow = { backbone, ms: Number.POSITIVE_INFINITY };
      let peerMs = Number.POSITIVE_INFINITY;
      for (let round = 0; round <= repeats; round++) {
        const ms = runner.run();
        const theirs = peer ? (await peer.ask<{ ms: number }>({ do: "run", steps: stepsAtOnce(device) })).ms : peerMs;
        if (round === 0) continue; // warm-up
        row.ms = Math.min(row.ms, ms);
        peerMs = Math.min(peerMs, theirs);
      }
      if (device !== "cpu") row.peak = memory(device).peak;
      rows.push({ ...row, ...(peer && { peerMs, ratio: peerMs / row.ms }) });
    }
  }
  return {
    ...{ batch, device, threads: threads(), way: title ?? "", rows, notes },
    ...(peerTitle && { peerTitle, peerWay: PEER_TITLES[variant] }),
  };
}

/** Closes all peers. */
const together = (each: readonly Disposable[]): Disposable => ({
  [Symbol.dispose]() {
    for (const one of each) one[Symbol.dispose]();
  },
});

/** A peer whose step is ready, or the reason why there is none: torchvision has no DINOv2 and no CLIP. */
async function startPeer(
  { peer: python }: BackbonesOptions,
  request: { backbone: string; [key: string]: unknown },
): Promise<{ peer?: Peer; title?: string; problem?: string }> {
  if (python === undefined) return {};
  const { peer, title } = await Peer.start(python, threads());
  try {
    await peer.ask({ do: "step", ...request });
    return { peer, title };
  } catch (error) {
    peer[Symbol.dispose]();
    return { title, problem: (error as Error).message.split("\n")[0] };
  }
}
