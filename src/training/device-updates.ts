/**
 * Updates on a GPU, where the host must not wait: it enqueues the next step while the device still computes the
 * previous ones.
 *
 * - Scalars for the log are summed on the device and read once in a while (`read`).
 * - After a few plain updates a whole update (forward, penalties, backward, optimizers) is captured as a CUDA graph,
 *   and from then on replayed with each new batch: one launch instead of a thousand. Random draws are made before each
 *   replay with the keys of its step (recorded-random.ts), so that the results are the same.
 * - If updates differ (a regularizer or another penalty becomes active; DANN alternates), each kind is captured
 *   separately. An update that cannot be replayed (it reads the step number, draws on the host, or reads from the
 *   device) continues without a graph, and the log says why.
 * - In a graph the polar factor uses a fixed number of Newton–Schulz iterations. Their residual is monitored: if it was
 *   too large, updates continue without a graph and with the eigensolver.
 */

import type { Batch } from "../algorithms/algorithm.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { zeros } from "../engine/ops.generated.js";
import { DrawRecord, NotCapturable } from "../engine/recorded-random.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { residualTooLarge } from "../regularizers/polar.js";
import type { Learner, Scalars } from "./learner.js";

/** Plain updates before one is captured: they make what lives on from step to step, such as Adam's moments. */
const WARM_UP = 3;

/** The scalars of the updates since the last reading. */
export interface Reading {
  readonly sums: Record<string, number>;
  readonly count: number;
}

export interface DeviceUpdatesOptions {
  readonly device: string;
  /** Whether to capture updates (default: true). */
  readonly capture?: boolean;
  /** Receives messages for the log of the run. */
  readonly say?: (text: string) => void;
}

/** An update as it was captured, and the places it reads its batch from. */
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
  /** By the kind of update: how many were run plainly, and the one that is replayed. */
  private readonly plain = new Map<string, number>();
  private readonly captured = new Map<string, Captured>();
  /** By the kind of update: its draws, planned in the last plain update before the capture. */
  private readonly planned = new Map<string, DrawRecord>();
  /** What the last plain update chose by the step's number. */
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

  /** Makes one update, and does not wait for it. */
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
      this.runPlainly(batch, step, this.mayCapture && before === WARM_UP - 1 ? this.plan(kind) : undefined);
    }
  }

  private plan(kind: string): DrawRecord {
    const draws = new DrawRecord();
    this.planned.set(kind, draws);
    return draws;
  }

  private runPlainly(batch: Batch, step: number, draws?: DrawRecord): void {
    const schedules: typeof this.schedules = [];
    const onSchedule = (at: (step: number) => number | boolean): void => void schedules.push(at);
    const random = draws?.planning(this.learner.randomAt(step));
    scope(() => this.add(this.learner.launch(batch, { step, random, notice: this.options.say, onSchedule }), "make"));
    this.schedules = schedules;
  }

  /** What an update of this step is made of: two of one kind do the same with other numbers. */
  private kindOf(batch: Batch, step: number): string {
    const rows = batch.domains.map(({ x }) => x.rows);
    const { learner } = this;
    return JSON.stringify([
      learner.phaseAt(step),
      learner.movesHeadsOnly(step),
      rows,
      this.schedules.map((at) => at(step)),
    ]);
  }

  /** The sums of the scalars since the last reading; waits for the device. Numbers that are not finite are an error. */
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

  /** Adds scalars to the sums. While captured, there must be a sum for each already. */
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
          const scalars = this.learner.launch(batchAt(x, y, rows), {
            step,
            random: draws.recording(this.learner.randomAt(step)),
            watch: (residual) => void this.residual.copy_(this.residual.maximum(residual)),
            captured: true,
          });
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
      graph.dispose(); // first: it waits until the device has done with the rest
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

/** Why an update could not be captured. libtorch's own message about what a capture forbids does not help the user. */
function whyNot(error: Error): string {
  const isForbidden = error instanceof EngineError && /captur/i.test(error.message);
  return isForbidden ? "it transfers data between CPU and GPU during the step" : error.message.split("\n")[0];
}

/** The batch in two tensors, with so many rows of each domain. */
function batchAt(x: Tensor, y: Tensor, rows: readonly number[]): Batch {
  let start = 0;
  const domains = rows.map((count) => {
    start += count;
    return { x: x.narrow(0, start - count, count), y: y.narrow(0, start - count, count) };
  });
  return { domains, x, y };
}
