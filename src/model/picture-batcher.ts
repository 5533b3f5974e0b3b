/**
 * Batches the predictions of pictures that arrive one by one from many clients. Pictures are decoded a few at a time as
 * they arrive. The network runs on the decoded ones when a batch is full, when no picture is being decoded, or when one
 * has waited long enough. A single picture is predicted immediately; under load most pictures share a batch.
 */

import { type DecodedPicture, decodersAtOnce, isLargeDecode } from "../data/decode.js";
import { UsageError } from "../errors.js";
import type { Model, Prediction } from "./model.js";

/** The maximum milliseconds that a decoded picture waits for others. */
const MOST_WAIT_MS = 500;

export interface BatcherOptions {
  /** Pictures that go through the network at once. */
  readonly batchSize?: number;
}

/** Large pictures are decoded one at a time, so that they never hold up the others. At most so many wait. */
const LARGE_AT_ONCE = 1;
const MOST_LARGE = 16;

interface Job {
  readonly bytes: Uint8Array;
  readonly top: number;
  readonly done: (prediction: Prediction) => void;
  readonly failed: (error: unknown) => void;
}

interface ReadyJob extends Job {
  readonly picture: DecodedPicture;
  readonly since: number;
}

export class PictureBatcher {
  private readonly queue: Job[] = [];
  private readonly large: Job[] = [];
  private decodingLarge = 0;
  private ready: ReadyJob[] = [];
  private decoding = 0;
  private timer: NodeJS.Timeout | undefined;
  private isRunning = false;
  /** The number of batches, and of pictures in them. */
  batches = 0;
  pictures = 0;
  private readonly batchSize: number;
  /** The duration of the last batch: waiting that long for more pictures costs little and fills batches. */
  private lastMs = 0;

  constructor(
    private readonly model: Model,
    { batchSize = 64 }: BatcherOptions = {},
  ) {
    if (model.dependsOnBatch)
      throw new UsageError(
        `model ${model.path}: its prediction for a picture depends on the other pictures in the batch, so pictures of several clients cannot share a batch; use nudge predict`,
      );
    this.batchSize = batchSize;
  }

  /** The number of pictures that are waiting or being processed. */
  get waiting(): number {
    return this.queue.length + this.large.length + this.decoding + this.ready.length;
  }

  /** Whether a picture can wait for its turn. Of large ones only a few can; the others are not held up by them. */
  hasRoomFor(bytes: Uint8Array): boolean {
    return this.large.length < MOST_LARGE || !isLargeDecode(bytes);
  }

  /** Predicts a picture from the bytes of its file; throws a `DataError` if they cannot be decoded. */
  predict(bytes: Uint8Array, { top = 5 }: { top?: number } = {}): Promise<Prediction> {
    return new Promise((done, failed) => {
      (isLargeDecode(bytes) ? this.large : this.queue).push({ bytes, top, done, failed });
      this.decodeNext();
    });
  }

  private decodeNext(): void {
    while (this.decoding - this.decodingLarge < decodersAtOnce && this.queue.length > 0)
      this.decode(this.queue.shift()!, 0);
    while (this.decodingLarge < LARGE_AT_ONCE && this.large.length > 0) this.decode(this.large.shift()!, 1);
  }

  private decode(job: Job, large: 0 | 1): void {
    this.decoding++;
    this.decodingLarge += large;
    this.model
      .decode(job.bytes)
      .then(
        (picture) => void this.ready.push({ ...job, picture, since: performance.now() }),
        (error: unknown) => job.failed(error),
      )
      .finally(() => {
        this.decoding--;
        this.decodingLarge -= large;
        this.decodeNext();
        this.runWhenDue();
      });
  }

  private runWhenDue(): void {
    if (this.ready.length === 0 || this.isRunning) return;
    const isFull = this.ready.length >= this.batchSize;
    const isQuiet = this.decoding - this.decodingLarge === 0 && this.queue.length === 0; // a large one takes seconds
    const left = Math.min(this.lastMs, MOST_WAIT_MS) - (performance.now() - this.ready[0].since);
    if (isFull || isQuiet || left <= 0) void this.run();
    else this.timer ??= setTimeout(() => this.again(), left);
  }

  private again(): void {
    this.timer = undefined;
    this.runWhenDue();
  }

  /**
   * Runs one batch. The rest waits for the next turn, so that responses are sent and requests arrive between two
   * batches.
   */
  private async run(): Promise<void> {
    this.isRunning = true;
    const since = performance.now();
    const jobs = this.ready.slice(0, this.batchSize);
    this.ready = this.ready.slice(this.batchSize);
    try {
      const top = Math.max(...jobs.map((job) => job.top));
      const predictions = await this.model.predictDecoded(
        jobs.map(({ picture }) => picture),
        { top },
      );
      for (const [i, job] of jobs.entries()) job.done({ ...predictions[i], top: predictions[i].top.slice(0, job.top) });
    } catch (error) {
      for (const { failed } of jobs) failed(error);
    }
    this.lastMs = performance.now() - since;
    this.batches++;
    this.pictures += jobs.length;
    this.isRunning = false;
    if (this.ready.length > 0) setImmediate(() => this.runWhenDue());
  }
}
