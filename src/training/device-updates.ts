/**
 * Updates on a GPU. The host must not wait: it enqueues the next step while the device still computes the previous
 * ones.
 *
 * - Scalars for the log are summed on the device and read only occasionally (`read`).
 * - After a few normal updates a whole update (forward pass, penalties, backward pass, optimizers) is captured as a
 *   CUDA graph   and then replayed with each new batch: one launch instead of a thousand. Random numbers are drawn
 *   before each replay with   the keys of its step (recorded-random.ts), so that the results are the same.
 * - If updates differ (a regularizer or another penalty becomes active; DANN alternates), each kind is captured
 *   separately.   An update that cannot be replayed (it reads the step number, draws on the host, or reads from the
 *   device) runs without a   graph, and the log says why.
 * - Batches of arrays that are on the device (data/resident-batches.ts) are gathered by the graph itself. The host only sends
 *   the rows of many steps at once, and then launches the graph many times without other work in between.
 * - In a graph the polar factor uses a fixed number of Newton–Schulz iterations. Their residual is monitored: if it was
 *   too   large, updates continue without a graph and with the eigensolver.
 */

import type { Batch } from "../algorithms/algorithm.js";
import type { ResidentBatches } from "../data/resident-batches.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { callPrivate } from "../engine/operator.js";
import { zeros } from "../engine/ops.generated.js";
import { DrawRecord, NotCapturable } from "../engine/recorded-random.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { residualTooLarge } from "../regularizers/polar.js";
import type { Learner, Scalars } from "./learner.js";
import { batchAt, RowFeed } from "./row-feed.js";

/** The number of normal updates before the capture. They create persistent tensors, such as Adam's moments. */
const WARM_UP = 3;

/** The scalars of the updates since the last call of `read`. */
export interface Reading {
  readonly sums: Record<string, number>;
  readonly count: number;
}

export interface DeviceUpdatesOptions {
  readonly device: string;
  /** Whether to capture updates. The default is true. */
  readonly capture?: boolean;
  /** Receives messages for the log of the run. */
  readonly say?: (text: string) => void;
}

/** A captured update. */
interface Captured {
  readonly graph: CudaGraph;
  readonly draws: DrawRecord;
}

/** A captured update of a batch that is copied to it, and the tensors from which it reads the batch. */
interface Fed {
  readonly x: Tensor;
  readonly y: Tensor;
}

/** A captured update reads its batch from somewhere, and may do something at its end. */
interface Source {
  read(): Batch;
  next?(): void;
}

export class DeviceUpdates implements Disposable {
  private readonly sums = new Map<string, Tensor>();
  private readonly hostSums: Record<string, number> = {};
  private count = 0;
  private first = 0;
  /** For each kind of update: the number of normal updates, and the captured one. */
  private readonly plain = new Map<string, number>();
  private readonly captured = new Map<string, Captured>();
  private readonly fed = new Map<string, Fed>();
  private rows: RowFeed | undefined;
  /** For each kind of update: its draws, recorded in the last normal update before the capture. */
  private readonly planned = new Map<string, DrawRecord>();
  /** The values that the last normal update derived from the step number. */
  private schedules: ((step: number) => number | boolean)[] = [];
  private mayCapture: boolean;
  private readonly residual: Tensor;

  constructor(
    private readonly learner: Learner,
    private readonly options: DeviceUpdatesOptions,
  ) {
    this.mayCapture = options.capture ?? true;
    this.residual = keep(zeros([], { dtype: "float64", device: options.device }));
  }

  /** Whether updates are replayed now. */
  get isReplaying(): boolean {
    return this.captured.size > 0;
  }

  /** Makes one update without waiting for it. */
  update(batch: Batch, step: number): void {
    this.begin(step, 1);
    const counts = batch.domains.map(({ x }) => x.rows);
    const kind = this.kindOf(counts, step);
    if (this.mustCapture(kind)) this.tryCaptureFed(kind, batch, counts, step);
    const captured = this.captured.get(kind);
    if (captured) this.replay(captured, this.fed.get(kind)!, batch, step);
    else this.runNormally(kind, batch, step);
  }

  /** Makes several updates with batches that are on the device, without waiting for them. */
  updateMany(batches: ResidentBatches, from: number, count: number): void {
    this.begin(from, count);
    const counts = batches.countsAt(from);
    this.rows ??= new RowFeed(this.options.device, counts);
    this.rows.load(batches, from, count);
    const kinds = Array.from({ length: count }, () => "");
    const kindAt = (i: number): string => {
      kinds[i] ||= this.kindOf(counts, from + i);
      return kinds[i];
    };
    for (let i = 0; i < count; ) {
      const kind = kindAt(i);
      if (this.mustCapture(kind)) this.tryCapture(kind, from + i, this.rows.source(batches));
      const captured = this.captured.get(kind);
      let next = i + 1;
      if (captured) {
        while (next < count && kindAt(next) === kind) next++;
        this.rows.place(i);
        this.replayMany(captured, batches, from + i, from + next);
      } else {
        using batch = batches.batch(from + i);
        const { x, y, labels } = batch;
        scope(() => this.runNormally(kind, { ...batchAt(x, y, counts), labels }, from + i));
        kinds.fill(""); // what depends on the step is known only after a normal update
      }
      i = next;
    }
  }

  private begin(step: number, count: number): void {
    if (this.count === 0) this.first = step;
    this.count += count;
  }

  /** Whether updates of a kind have to be captured now. */
  private mustCapture(kind: string): boolean {
    return this.mayCapture && !this.captured.has(kind) && (this.plain.get(kind) ?? 0) >= WARM_UP;
  }

  private plan(kind: string): DrawRecord {
    const draws = new DrawRecord();
    this.planned.set(kind, draws);
    return draws;
  }

  private runNormally(kind: string, batch: Batch, step: number): void {
    const before = this.plain.get(kind) ?? 0;
    this.plain.set(kind, before + 1);
    const draws = this.mayCapture && before === WARM_UP - 1 ? this.plan(kind) : undefined;
    const schedules: typeof this.schedules = [];
    const onSchedule = (at: (step: number) => number | boolean): void => void schedules.push(at);
    const random = draws?.planning(this.learner.randomAt(step));
    scope(() => this.add(this.learner.launch(batch, { step, random, notice: this.options.say, onSchedule }), "make"));
    this.schedules = schedules;
  }

  /** Returns the kind of an update. Two updates of the same kind run the same operations on different numbers. */
  private kindOf(rows: readonly number[], step: number): string {
    const { learner } = this;
    return JSON.stringify([
      learner.phaseAt(step),
      learner.trainsHeadsOnly(step),
      rows,
      this.schedules.map((at) => at(step)),
    ]);
  }

  /**
   * Waits for the device and returns the sums of the scalars since the last call. A number that is not finite is an
   * error.
   */
  read(): Reading {
    const { count, first } = this;
    const residual = this.residual.item();
    if (residualTooLarge(residual)) {
      const { say } = this.options;
      this.drop();
      this.mayCapture = false;
      this.residual.zero_();
      say?.(
        `nuclear norm: Newton–Schulz left a residual of ${residual.toExponential(1)} in updates ${first} to ${first + count - 1}; from now on the eigensolver is used, and updates are not replayed`,
      );
    }
    const sums: Record<string, number> = { ...this.hostSums };
    for (const [name, sum] of this.sums) {
      sums[name] = (sums[name] ?? 0) + sum.item();
      sum.zero_();
    }
    for (const name of Object.keys(this.hostSums)) delete this.hostSums[name];
    this.count = 0;
    for (const [name, sum] of Object.entries(sums))
      if (!Number.isFinite(sum))
        throw new EngineError(
          `${name === "loss" ? "the loss" : name} became ${sum} in updates ${first} to ${first + count - 1}. Reduce the learning rate, or check the inputs`,
          "loss",
        );
    return { sums, count };
  }

  /** Adds scalars to the sums. During a capture, all sums must already exist. */
  private add(scalars: Scalars, where: "make" | "have"): void {
    noGrad(() => {
      for (const [name, value] of Object.entries(scalars)) {
        if (typeof value === "number") {
          if (where === "have") throw new NotCapturable(`it logs a number that is on the host (${name})`);
          this.hostSums[name] = (this.hostSums[name] ?? 0) + value;
          continue;
        }
        let sum = this.sums.get(name);
        if (!sum) {
          if (where === "have") throw new NotCapturable(`it logs ${name} now and not before`);
          sum = keep(zeros([], { dtype: "float64", device: this.options.device }));
          this.sums.set(name, sum);
        }
        sum.add_(value.detach());
      }
    });
  }

  /** Captures an update of a batch that is copied to fixed tensors before each replay. */
  private tryCaptureFed(kind: string, batch: Batch, counts: readonly number[], step: number): void {
    const [x, y] = [batch.x, batch.y].map((each) => keep(each.emptyLike()));
    if (this.tryCapture(kind, step, { read: () => batchAt(x, y, counts) })) this.fed.set(kind, { x, y });
    else for (const tensor of [x, y]) tensor.dispose();
  }

  private tryCapture(kind: string, step: number, source: Source): boolean {
    const { device, say } = this.options;
    const draws = this.planned.get(kind) ?? new DrawRecord();
    this.planned.delete(kind);
    try {
      const graph = CudaGraph.capture(device, () => {
        scope(() => {
          const isUnchanged = gradientsOf(this.learner);
          const scalars = this.learner.launch(source.read(), {
            step,
            random: draws.recording(this.learner.randomAt(step)),
            watch: (residual) => void this.residual.copy_(this.residual.maximum(residual)),
            captured: true,
          });
          if (!isUnchanged()) throw new NotCapturable("it adds to gradients of the update before it");
          this.add(scalars, "have");
          source.next?.();
        });
      });
      this.captured.set(kind, { graph, draws });
      return true;
    } catch (error) {
      draws[Symbol.dispose]();
      this.mayCapture = false;
      if (!(error instanceof NotCapturable || error instanceof EngineError)) throw error;
      say?.(`note: updates are not replayed as a CUDA graph: ${whyNot(error)}`);
      return false;
    }
  }

  private replay({ graph, draws }: Captured, { x, y }: Fed, batch: Batch, step: number): void {
    noGrad(() => {
      x.copy_(batch.x);
      y.copy_(batch.y);
    });
    this.learner.prepare(batch, step);
    draws.refill(this.learner.randomAt(step));
    graph.replay();
  }

  /** Replays the updates of some steps. If the host has nothing to draw or to set for a step, it only launches them. */
  private replayMany({ graph, draws }: Captured, batches: ResidentBatches, from: number, to: number): void {
    if (draws.isEmpty && !this.learner.isPreparedByStep) {
      graph.replay(to - from);
      return;
    }
    for (let step = from; step < to; step++) {
      const lazily = {
        get labels() {
          return batches.labelsAt(step);
        },
      };
      this.learner.prepare(lazily, step);
      draws.refill(this.learner.randomAt(step));
      graph.replay();
    }
  }

  private drop(): void {
    for (const { graph, draws } of this.captured.values()) {
      graph.dispose(); // must come first, because it waits until the device has finished
      draws[Symbol.dispose]();
    }
    for (const { x, y } of this.fed.values()) for (const tensor of [x, y]) tensor.dispose();
    this.captured.clear();
    this.fed.clear();
    for (const draws of this.planned.values()) draws[Symbol.dispose]();
    this.planned.clear();
  }

  [Symbol.dispose](): void {
    this.drop();
    this.rows?.[Symbol.dispose]();
    for (const sum of this.sums.values()) sum.dispose();
    this.residual.dispose();
  }
}

/**
 * Returns why an update or a prediction could not be captured. libtorch's message about forbidden operations does not help the user.
 */
export function whyNot(error: Error): string {
  const isForbidden = error instanceof EngineError && /captur/i.test(error.message);
  return isForbidden
    ? "it transfers data between CPU and GPU, or draws random numbers of its own"
    : error.message.split("\n")[0];
}

/**
 * Returns a function that returns whether the present gradients have not been written to. A graph must not add to them:
 * it would do so at each replay, even after they are freed and their memory belongs to other tensors.
 */
function gradientsOf(learner: Learner): () => boolean {
  const version = (tensor: Tensor): unknown => callPrivate("aten::_version", tensor);
  const gradients = learner.root.parameters().flatMap(({ grad }) => grad ?? []);
  const versions = gradients.map(version);
  return () => gradients.every((gradient, i) => version(gradient) === versions[i]);
}
