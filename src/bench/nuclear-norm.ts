/**
 * Measures the value and the gradient of the nuclear norm: each of our algorithms, and the two lines of the paper (torch.svd
 * and its backward pass). They alternate in one run, and the minimum over the rounds is reported, because it is least affected
 * by noise. On a GPU, Newton–Schulz is also measured inside a captured graph, as training runs it.
 */

import { CudaGraph } from "../engine/cuda-graph.js";
import { synchronize, threads } from "../engine/device.js";
import { linalgSvd, linalgSvdvals, zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { nuclearNormOf } from "../regularizers/nuclear-norm-of.js";
import { type PolarRoute, polarFactor, polarRoutes } from "../regularizers/polar.js";
import { Peer } from "./peer.js";

export interface NuclearNormBenchOptions {
  device: string;
  /** A Python with torch, to also time torch.svd there. */
  peer?: string;
  /** The number of rounds; the fastest one is reported (default: 30). */
  repeats?: number;
  /** Rows and widths (default: 32, 96, 192 × 512, 1280, 2048). */
  shapes?: readonly (readonly [rows: number, width: number])[];
}

/** The time and the error of one algorithm. */
export interface WayTime {
  ms: number;
  /** The speed relative to torch.svd in this process. */
  ratio: number;
  /** The speed relative to torch.svd in the peer. */
  peerRatio?: number;
  /** |value − ‖F‖_*| / ‖F‖_*, where ‖F‖_* comes from a float64 SVD. */
  valueError: number;
}

export interface RouteTime extends WayTime {
  route: PolarRoute;
  /** Whether `auto` selects this algorithm here. */
  automatic: boolean;
}

export interface ShapeTimes {
  rows: number;
  width: number;
  /** torch.svd, forward and backward, with as many threads as the engine. */
  svdMs: number;
  peerMs?: number;
  routes: RouteTime[];
  /** On a GPU, Newton–Schulz with a fixed number of iterations in a captured graph: the mean of consecutive replays. */
  captured?: WayTime;
}

export interface NuclearNormBench {
  device: string;
  threads: number;
  repeats: number;
  peerTitle?: string;
  shapes: ShapeTimes[];
}

type Way = PolarRoute | "torch.svd" | "peer" | "captured";

/** The number of consecutive replays, so that the synchronization at the end is negligible, as in a training step. */
const REPLAYS = 10;

const SHAPES = [32, 96, 192].flatMap((rows) => [512, 1280, 2048].map((width) => [rows, width] as const));

/** Times every algorithm and torch.svd at every shape. */
export async function benchNuclearNorm(options: NuclearNormBenchOptions): Promise<NuclearNormBench> {
  const { device, repeats = 30, shapes = SHAPES } = options;
  const started = options.peer === undefined ? undefined : await Peer.start(options.peer, threads());
  using peer = started?.peer;
  const cases = shapes.map(([rows, width]) => new Case(rows, width, device));
  // Rounds are the outer loop: a burst of other work on the machine then affects one round of each shape, not every round of one shape.
  for (let round = 0; round <= repeats; round++) {
    for (const each of cases) {
      if (round === 1) each.forget(); // the first round is the warm-up
      each.time();
      if (peer) await each.timePeer(peer);
    }
  }
  const results = cases.map((each) => each.result());
  for (const each of cases) each[Symbol.dispose]();
  return { device, threads: threads(), repeats, ...(started && { peerTitle: started.title }), shapes: results };
}

/** One shape: its features and the best time of each algorithm so far. */
class Case implements Disposable {
  private readonly features: Tensor;
  private readonly captured: Captured | undefined;
  private readonly best = new Map<Way, number>();

  constructor(
    private readonly rows: number,
    private readonly width: number,
    private readonly device: string,
  ) {
    this.features = makeFeatures(rows, width, device);
    this.captured = device === "cpu" ? undefined : capture(this.features);
  }

  [Symbol.dispose](): void {
    this.captured?.graph.dispose(); // first, because it waits until the device no longer uses the rest
    this.captured?.value.dispose();
    this.features.dispose();
  }

  forget(): void {
    this.best.clear();
  }

  /** Times torch.svd and every algorithm once. */
  time(): void {
    this.note(
      "torch.svd",
      timed(this.features, () => linalgSvd(this.features, false)[1].sum()),
    );
    for (const route of polarRoutes)
      this.note(
        route,
        timed(this.features, () => nuclearNormOf(this.features, { route })),
      );
    if (this.captured) this.note("captured", replayed(this.captured.graph, this.device));
  }

  async timePeer(peer: Peer): Promise<void> {
    const { rows, width: columns, device } = this;
    this.note("peer", (await peer.ask<{ ms: number }>({ do: "svd", rows, columns, device, rounds: 1 })).ms);
  }

  private note(way: Way, ms: number): void {
    this.best.set(way, Math.min(ms, this.best.get(way) ?? ms));
  }

  result(): ShapeTimes {
    const { rows, width, features, captured, best } = this;
    const svdMs = best.get("torch.svd")!;
    const peerMs = best.get("peer");
    const automatic = scope(() => polarFactor(features).route);
    const value = (of: () => Tensor): number => scope(() => noGrad(() => of().item()));
    const exact = value(() => linalgSvdvals(features.to({ dtype: "float64" })).sum());
    const wayTime = (way: Way, found: number): WayTime => {
      const ms = best.get(way)!;
      const peerRatio = peerMs === undefined ? {} : { peerRatio: peerMs / ms };
      return { ms, ratio: svdMs / ms, ...peerRatio, valueError: Math.abs(found - exact) / exact };
    };
    const routes = polarRoutes.map(
      (route): RouteTime => ({
        ...{ route, automatic: route === automatic },
        ...wayTime(
          route,
          value(() => nuclearNormOf(features, { route })),
        ),
      }),
    );
    return {
      ...{ rows, width, svdMs, ...(peerMs === undefined ? {} : { peerMs }), routes },
      ...(captured && { captured: wayTime("captured", captured.value.item()) }), // the value of the last replay
    };
  }
}

/** Features like those of a backbone: not negative, with a large mean and a decreasing spectrum. */
function makeFeatures(rows: number, width: number, device: string): Tensor {
  const random = new Random(0, ["bench", "nuclear-norm", rows, width]);
  const normal = (purpose: string, shape: readonly number[]): Tensor =>
    random.for(purpose).normal_(zeros(shape, { dtype: "float32", device }));
  const made = scope(() => {
    const common = normal("samples", [rows, 16]).mm(normal("directions", [16, width]));
    return common
      .mul(0.25)
      .add(normal("noise", [rows, width]).mul(0.5))
      .add(0.5)
      .relu();
  });
  return keep(made).requiresGrad_();
}

/** Milliseconds to compute a value and its gradient. */
function timed(features: Tensor, run: () => Tensor): number {
  features.grad = null;
  synchronize(features.device);
  const start = performance.now();
  scope(() => run().backward());
  synchronize(features.device);
  return performance.now() - start;
}

/** A graph that computes the value and its gradient, and the tensor to which each replay writes the value. */
interface Captured {
  readonly graph: CudaGraph;
  readonly value: Tensor;
}

/** Captures them as training does, without reading values back during the computation. */
function capture(features: Tensor): Captured {
  const once = (): Tensor =>
    scope(() => {
      features.grad = null; // the gradient is allocated inside the graph too
      const value = nuclearNormOf(features, { deferred: true });
      value.backward();
      return value.detach();
    });
  for (let i = 0; i < 3; i++) once().dispose();
  let value: Tensor | undefined;
  const graph = CudaGraph.capture(features.device, () => {
    value = keep(once());
  });
  return { graph, value: value! };
}

/** Milliseconds per replay. */
function replayed(graph: CudaGraph, device: string): number {
  synchronize(device);
  const start = performance.now();
  for (let i = 0; i < REPLAYS; i++) graph.replay();
  synchronize(device);
  return (performance.now() - start) / REPLAYS;
}
