/** Measures the cost of calling one small operator from TypeScript, next to a call from Python. */

import { threads } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { noGrad, tensor } from "../engine/tensor.js";
import { Peer } from "./peer.js";

export interface OpsResult {
  device: string;
  /** Nanoseconds to add two 4×4 tensors and free the result, in a scope, without gradients. */
  ours: number;
  peer?: { title: string; ns: number; ratio: number };
}

const ROUNDS = 20;
const CALLS = 20_000;
const PER_SCOPE = 100;

/** Times the addition of 4×4 tensors in rounds that alternate with those of the peer. The best round of each is reported. */
export async function benchOps({ device, peer }: { device: string; peer?: string }): Promise<OpsResult> {
  const a = tensor(new Float32Array(16).fill(1), { shape: [4, 4], device });
  const round = (): number => {
    const start = performance.now();
    for (let done = 0; done < CALLS; done += PER_SCOPE) {
      scope(() => {
        for (let i = 0; i < PER_SCOPE; i++) a.add(a);
      });
    }
    return ((performance.now() - start) / CALLS) * 1e6;
  };
  const started = peer === undefined ? undefined : await Peer.start(peer, threads());
  using other = started?.peer;
  let ours = Number.POSITIVE_INFINITY;
  let theirs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ROUNDS; i++) {
    ours = Math.min(ours, noGrad(round));
    if (other)
      theirs = Math.min(theirs, (await other.ask<{ ns: number }>({ do: "ops", device, rounds: 1, calls: CALLS })).ns);
  }
  a.dispose();
  return { device, ours, peer: started && { title: started.title, ns: theirs, ratio: theirs / ours } };
}
