/** Makes updates with the batches of a loader, on the host or on a GPU, and collects the scalars that they log. */

import { byDomain, type LoadedBatch, type Loader } from "../data/loader.js";
import type { ResidentBatches } from "../data/resident-batches.js";
import { keepPace } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { EngineError } from "../errors.js";
import { DeviceUpdates, type Reading } from "./device-updates.js";
import type { Learner } from "./learner.js";
import { stepsOfBlock } from "./row-feed.js";

/**
 * On a GPU, reading numbers makes the host wait until all previous steps are done. It is therefore done at most once
 * per second, and before evaluations.
 */
const READ_MS = 1000;

export interface UpdatesOptions {
  readonly device: string;
  /** Whether updates may be replayed as CUDA graphs. The default is true. */
  readonly capture?: boolean;
  readonly say: (text: string) => void;
  /** Receives the summed scalars of updates, each exactly once. */
  readonly onLogs?: (reading: Reading) => void;
}

export class Updates implements Disposable {
  /**
   * Since the start of this process: the number of updates and pictures, and the milliseconds spent waiting for
   * batches.
   */
  made = 0;
  pictures = 0;
  waited = 0;
  /** The mean loss of the updates that were read last. */
  loss = Number.NaN;
  private readonly onDevice: DeviceUpdates | null;
  private lastRead = 0;

  constructor(
    private readonly learner: Learner,
    private readonly loader: Loader,
    private readonly options: UpdatesOptions,
  ) {
    const { device, capture, say } = options;
    this.onDevice = device === "cpu" ? null : new DeviceUpdates(learner, { device, capture, say });
  }

  /** Whether updates are currently replayed as a CUDA graph. */
  get isReplaying(): boolean {
    return this.onDevice?.isReplaying ?? false;
  }

  /**
   * Makes the update of a step with its batch, and returns the step. On a GPU that has the samples, it makes the updates up to
   * the step `last`, or fewer, and returns the step of the last one.
   */
  async make(step: number, last = step): Promise<number> {
    const { resident } = this.loader;
    if (this.onDevice && resident) return this.makeMany(this.onDevice, resident, step, last);
    const asked = performance.now();
    using batch = await this.loader.batch(step);
    this.waited += performance.now() - asked;
    this.makeOn(batch, step);
    return step;
  }

  private makeMany(onDevice: DeviceUpdates, batches: ResidentBatches, step: number, last: number): number {
    const rows = batches.countsAt(step).reduce((sum, count) => sum + count, 0);
    const count = Math.min(last - step + 1, stepsOfBlock(rows));
    keepPace(this.options.device);
    onDevice.updateMany(batches, step, count);
    this.made += count;
    this.pictures += count * rows;
    if (performance.now() - this.lastRead > READ_MS) this.collect();
    return step + count - 1;
  }

  /** Makes the update of a step with the given batch. */
  makeOn(batch: LoadedBatch, step: number): void {
    scope(() => {
      const domains = byDomain(batch);
      if (this.onDevice) this.onDevice.update({ domains, x: batch.x, y: batch.y, labels: batch.labels }, step);
      else this.account({ sums: this.learner.update(domains, step), count: 1 });
    });
    this.made++;
    this.pictures += batch.x.rows;
    if (performance.now() - this.lastRead > READ_MS) this.collect();
  }

  /** Reads the scalars that are still on the device. */
  collect(): void {
    if (this.onDevice) this.account(this.onDevice.read());
    this.lastRead = performance.now();
  }

  private account(reading: Reading): void {
    const { sums, count } = reading;
    if (count === 0) return;
    for (const [name, sum] of Object.entries(sums))
      if (!Number.isFinite(sum)) throw new EngineError(`${name} is ${sum}`, "loss");
    this.options.onLogs?.(reading);
    this.loss = (sums.loss ?? Number.NaN) / count;
  }

  [Symbol.dispose](): void {
    this.onDevice?.[Symbol.dispose]();
  }
}
