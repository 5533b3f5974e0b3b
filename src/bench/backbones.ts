/**
 * The training steps of many backbones as `nudge train` runs them, each beside the fastest step that PyTorch has: on a GPU
 * torch.compile with the whole step in one CUDA graph (bf16, channels last, fused Adam), on the CPU eager mode. The peers
 * compile at the same time, a few together, and are timed one after the other, in turn with ours.
 */

import { backboneNamed, backbones } from "../backbones/index.js";
import { memory, threads } from "../engine/device.js";
import { Peer } from "./peer.js";
import { PEER_TITLES, StepRunner, stepsAtOnce, waysOf } from "./step.js";

export interface BackbonesOptions {
  /** Ids of backbones with pictures as input, or `all`. */
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
  /** Milliseconds of a training step: the minimum of the rounds. */
  ms: number;
  /** Bytes of tensors at the peak, on a GPU. */
  peak?: number;
  /** The same of PyTorch; absent where it was not asked, or could not. */
  peerMs?: number;
  /** How many times as fast as PyTorch. */
  ratio?: number;
}

export interface BackbonesResult {
  batch: number;
  device: string;
  threads: number;
  /** How ours runs, and how the peer's does. */
  way: string;
  peerWay?: string;
  peerTitle?: string;
  rows: BackboneRow[];
  /** Why some have no peer. */
  notes: string[];
}

/** Peers that compile at the same time: each takes a core, and its own memory on the GPU. */
const TOGETHER = 4;

/** Backbones that have published weights, and so take pictures of 224 pixels. */
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

/** Disposes of all of them. */
const together = (each: readonly Disposable[]): Disposable => ({
  [Symbol.dispose]() {
    for (const one of each) one[Symbol.dispose]();
  },
});

/** A peer with its step ready, or why there is none: torchvision has no DINOv2 and no CLIP. */
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
