/**
 * Predictions for the evaluations of a run. On a GPU, the host needs longer to launch the kernels of a forward pass than the
 * device needs to run them. So after a few normal predictions a pass is captured as a CUDA graph and then replayed, as
 * updates are (device-updates.ts). A smaller batch uses the first rows of the captured one, and the others are zeros.
 *
 * A replayed pass reads the same memory as the captured one. Weights are always changed in place, but a plug-in can
 * replace a tensor that it predicts with. Therefore one replayed prediction of each evaluation is also made normally. This
 * is done at its end: the host is then many batches ahead of the device and launches the normal pass in the meantime. If
 * the two differ, the evaluation is repeated, and nothing is replayed from then on.
 */

import { REFERENCE_BATCH } from "../data/loader.js";
import { CudaGraph } from "../engine/cuda-graph.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { EngineError } from "../errors.js";
import { paddedRows } from "../nn/padded-rows.js";
import { type DeviceUpdatesOptions, whyNot } from "./device-updates.js";
import type { EvaluateOptions } from "./evaluate.js";
import type { Learner } from "./learner.js";

/** The number of normal predictions before the capture. In these, the network's kernels are planned. */
const WARM_UP = 2;

/** A captured forward pass: where it reads its batch, and where it writes the logits. */
interface Captured {
  readonly graph: CudaGraph;
  readonly x: Tensor;
  readonly logits: Tensor;
}

export class DevicePredictions implements Disposable {
  /** By the shape of a batch: the number of normal predictions, and the captured one. */
  private readonly plain = new Map<string, number>();
  private readonly captured = new Map<string, Captured>();
  /** The passes that were replayed since the last check. Their inputs and logits are still there. */
  private readonly replayed = new Set<Captured>();
  /**
   * Whether a batch may contain rows of several splits. On a CPU it may not: there, losses are summed as they always
   * were, to the last bit.
   */
  private readonly mixed: boolean;
  private mayCapture: boolean;
  /** The most rows of a batch. A batch that is a little smaller, such as the last one, is padded to it. */
  private most = 0;

  constructor(
    private readonly learner: Learner,
    private readonly options: DeviceUpdatesOptions,
  ) {
    this.mixed = options.device !== "cpu" && learner.padsPredictions;
    this.mayCapture = options.device !== "cpu" && (options.capture ?? true);
  }

  /** Whether predictions are replayed now. */
  get isReplaying(): boolean {
    return this.mayCapture && this.captured.size > 0;
  }

  /** Returns the options of `evaluate` for one evaluation with these predictions. */
  forEvaluation(): Required<Pick<EvaluateOptions, "predict" | "mixed" | "areRight">> {
    this.replayed.clear(); // of an evaluation that was stopped
    return { predict: (x) => this.predict(x), mixed: this.mixed, areRight: () => this.areRight() };
  }

  /** Returns the logits of a batch, as `Learner.predict` does. They are valid until the next prediction. */
  predict(x: Tensor): Tensor {
    if (!this.mayCapture) return this.learner.predict(x);
    const rows = this.rowsOf(x);
    if (rows === null) return this.learner.predict(x);
    const shape = JSON.stringify([rows, ...x.shape.slice(1), x.dtype, x.isChannelsLast]);
    const before = this.plain.get(shape) ?? 0;
    if (before === WARM_UP && !this.captured.has(shape)) this.tryCapture(shape, x, rows);
    const captured = this.captured.get(shape);
    if (!captured) {
      this.plain.set(shape, before + 1);
      return this.learner.predict(x);
    }
    return this.replay(captured, x);
  }

  /**
   * Returns the number of rows of the captured pass for a batch, or null if it is not captured: predictions that depend on the whole batch
   * cannot be padded, and are captured for full batches only.
   */
  private rowsOf(x: Tensor): number | null {
    this.most = Math.max(this.most, x.rows);
    if (!this.learner.padsPredictions) return x.rows === REFERENCE_BATCH ? x.rows : null;
    const rows = this.learner.rowsOfPrediction(x);
    return rows === x.rows && 2 * rows > this.most ? this.most : rows;
  }

  /**
   * Compares the last replayed prediction of every shape with a normal one. If they differ, it returns false, and
   * nothing is replayed from then on.
   */
  areRight(): boolean {
    const replayed = [...this.replayed];
    this.replayed.clear();
    const areRight = replayed.every(({ x, logits }) =>
      scope(() => {
        const plain = this.learner.predict(x);
        return logits.equal(plain) || !Number.isFinite(plain.sum().item()); // NaN does not equal itself
      }),
    );
    if (!areRight) this.giveUp("a replayed prediction differs from a normal one");
    if (!this.mayCapture) this.drop();
    return areRight;
  }

  private replay(captured: Captured, batch: Tensor): Tensor {
    const { graph, x, logits } = captured;
    this.replayed.add(captured);
    return noGrad(() => {
      scope(() => {
        x.narrow(0, 0, batch.rows).copy_(batch);
        if (batch.rows < x.rows) x.narrow(0, batch.rows, x.rows - batch.rows).zero_(); // as paddedRows does
      });
      graph.replay();
      return logits.narrow(0, 0, batch.rows);
    });
  }

  private tryCapture(shape: string, batch: Tensor, rows: number): void {
    const x = noGrad(() => scope(() => keep(paddedRows(batch, rows).clone())));
    let logits: Tensor | undefined;
    try {
      const graph = CudaGraph.capture(this.options.device, () => {
        logits = keep(this.learner.predict(x));
      });
      this.captured.set(shape, { graph, x, logits: logits! });
    } catch (error) {
      for (const tensor of [x, logits]) tensor?.dispose();
      if (!(error instanceof EngineError)) throw error;
      this.giveUp(whyNot(error));
    }
  }

  /** What was replayed in this evaluation is still compared at its end. */
  private giveUp(why: string): void {
    this.mayCapture = false;
    this.options.say?.(`note: predictions are not replayed as a CUDA graph: ${why}`);
  }

  private drop(): void {
    for (const { graph, x, logits } of this.captured.values()) {
      graph.dispose(); // must come first, because it waits until the device has finished
      for (const tensor of [x, logits]) tensor.dispose();
    }
    this.captured.clear();
    this.replayed.clear();
  }

  [Symbol.dispose](): void {
    this.drop();
  }
}
