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
 * - In a graph the polar factor uses a fixed number of Newton–Schulz iterations. Their residual is monitored: if it was
 *   too   large, updates continue without a graph and with the eigensolver.
 */

import type { Batch } from "../algorithms/algorithm.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { callPrivate } from "../engine/operator.js";
import { zeros } from "../engine/ops.generated.js";
import { DrawRecord, NotCapturable } from "../engine/recorded-random.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { residualTooLarge } from "../regularizers/polar.js";
import type { Learner, Scalars } from "./learner.js";

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

/** A captured update, and the tensors from which it reads its batch. */
interface Captured {
  readonly graph: CudaGraph;
  readonly draws: DrawRecord;
  readonly x: Tensor;
  readonly y: Tensor;
}

export class DeviceUpdates implements Disposable {
  private readonly sums = new Map<string, Tensor>();
  private readonly hostSums: Record<string, number> = {};
  private count = 0;
  private first = 0;
  /** For each kind of update: the number of normal updates, and the captured one. */
  private readonly plain = new Map<string, number>();
  private readonly captured = new Map<string, Captured>();
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
    if (this.count === 0) this.first = step;
    this.count++;
    const kind = this.kindOf(batch, step);
    const before = this.plain.get(kind) ?? 0;
    if (this.mayCapture && !this.captured.has(kind) && before >= WARM_UP) this.tryCapture(kind, batch, step);
    const captured = this.captured.get(kind);
    if (captured) this.replay(captured, batch, step);
    else {
      this.plain.set(kind, before + 1);
      this.runNormally(batch, step, this.mayCapture && before === WARM_UP - 1 ? this.plan(kind) : undefined);
    }
  }

  private plan(kind: string): DrawRecord {
    const draws = new DrawRecord();
    this.planned.set(kind, draws);
    return draws;
  }

  private runNormally(batch: Batch, step: number, draws?: DrawRecord): void {
    const schedules: typeof this.schedules = [];
    const onSchedule = (at: (step: number) => number | boolean): void => void schedules.push(at);
    const random = draws?.planning(this.learner.randomAt(step));
    scope(() => this.add(this.learner.launch(batch, { step, random, notice: this.options.say, onSchedule }), "make"));
    this.schedules = schedules;
  }

  /** Returns the kind of an update. Two updates of the same kind run the same operations on different numbers. */
  private kindOf(batch: Batch, step: number): string {
    const rows = batch.domains.map(({ x }) => x.rows);
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

  private tryCapture(kind: string, batch: Batch, step: number): void {
    const { device, say } = this.options;
    const [x, y] = [batch.x, batch.y].map((each) => keep(each.emptyLike()));
    const draws = this.planned.get(kind) ?? new DrawRecord();
    this.planned.delete(kind);
    const rows = batch.domains.map((domain) => domain.x.rows);
    try {
      const graph = CudaGraph.capture(device, () => {
        scope(() => {
          const isUnchanged = gradientsOf(this.learner);
          const scalars = this.learner.launch(batchAt(x, y, rows), {
            step,
            random: draws.recording(this.learner.randomAt(step)),
            watch: (residual) => void this.residual.copy_(this.residual.maximum(residual)),
            captured: true,
          });
          if (!isUnchanged()) throw new NotCapturable("it adds to gradients of the update before it");
          this.add(scalars, "have");
        });
      });
      this.captured.set(kind, { graph, draws, x, y });
    } catch (error) {
      draws[Symbol.dispose]();
      for (const tensor of [x, y]) tensor.dispose();
      this.mayCapture = false;
      if (!(error instanceof NotCapturable || error instanceof EngineError)) throw error;
      say?.(`note: updates are not replayed as a CUDA graph: ${whyNot(error)}`);
    }
  }

  private replay({ graph, draws, x, y }: Captured, batch: Batch, step: number): void {
    noGrad(() => {
      x.copy_(batch.x);
      y.copy_(batch.y);
    });
    this.learner.prepare(batch, step);
    draws.refill(this.learner.randomAt(step));
    graph.replay();
  }

  private drop(): void {
    for (const { graph, draws, x, y } of this.captured.values()) {
      graph.dispose(); // must come first, because it waits until the device has finished
      draws[Symbol.dispose]();
      for (const tensor of [x, y]) tensor.dispose();
    }
    this.captured.clear();
    for (const draws of this.planned.values()) draws[Symbol.dispose]();
    this.planned.clear();
  }

  [Symbol.dispose](): void {
    this.drop();
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

/** Splits two tensors into a batch with these numbers of rows per domain. */
function batchAt(x: Tensor, y: Tensor, rows: readonly number[]): Batch {
  let start = 0;
  const domains = rows.map((count) => {
    start += count;
    return { x: x.narrow(0, start - count, count), y: y.narrow(0, start - count, count) };
  });
  return { domains, x, y };
}
