/**
 * The rows of many steps on a device, from which a captured update takes its own: the steps of a block are counted on the
 * device, so that the host sends nothing between two replays.
 */

import type { Batch } from "../algorithms/algorithm.js";
import type { ResidentBatches } from "../data/resident-batches.js";
import { empty, zeros } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";

/** The most bytes of rows in a block. The driver copies up to 64 KiB at once, and a longer list makes the host wait. */
const MOST_BYTES = 2 ** 16;

/** The most steps of a block. A run can be stopped only after a block. */
const MOST_STEPS = 100;

/** The most steps of a block with batches of some rows. */
export const stepsOfBlock = (rows: number): number =>
  Math.max(1, Math.min(MOST_STEPS, Math.floor(MOST_BYTES / (4 * rows))));

export class RowFeed implements Disposable {
  /** int32 [steps, rows] */
  private readonly block: Tensor;
  /** The step of the block that comes next, int64 [1]. */
  private readonly next: Tensor;
  private readonly size: number;

  /** `counts` has the number of rows of each domain in a batch. */
  constructor(
    device: string,
    private readonly counts: readonly number[],
  ) {
    this.size = counts.reduce((sum, count) => sum + count, 0);
    this.block = keep(empty([stepsOfBlock(this.size), this.size], { dtype: "int32", device }));
    this.next = keep(zeros([1], { dtype: "int64", device }));
  }

  /** Sends the rows of some steps. */
  load(batches: ResidentBatches, from: number, count: number): void {
    const rows = new Int32Array(count * this.size);
    for (let i = 0; i < count; i++) rows.set(batches.rowsAt(from + i), i * this.size);
    noGrad(() =>
      scope(() => void this.block.narrow(0, 0, count).copy_(tensor(rows, { shape: [count, this.size] }), true)),
    );
  }

  /** Sets which step of the block comes next. */
  place(step: number): void {
    noGrad(() => this.next.fill_(step));
  }

  /** What a captured update reads its batch from. It moves on to the next step at its end. */
  source(batches: ResidentBatches): { read(): Batch; next(): void } {
    return {
      read: () => {
        const { x, y } = batches.gather(this.block.indexSelect(0, this.next).view(-1));
        return batchAt(x, y, this.counts);
      },
      next: () => void noGrad(() => this.next.add_(1)),
    };
  }

  [Symbol.dispose](): void {
    for (const each of [this.block, this.next]) each.dispose();
  }
}

/** Splits two tensors into a batch with these numbers of rows per domain. */
export function batchAt(x: Tensor, y: Tensor, rows: readonly number[]): Batch {
  let start = 0;
  const domains = rows.map((count) => {
    start += count;
    return { x: x.narrow(0, start - count, count), y: y.narrow(0, start - count, count) };
  });
  return { domains, x, y };
}
