/**
 * The batches of a loader whose samples are on the device (resident-arrays.ts). They have the same samples in the same
 * order as batches that are made on the host. A batch is a list of row numbers; what is known of each sample is looked
 * up only when it is asked for.
 */

import { keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import type { Dataset } from "./dataset.js";
import type { EvaluatedBatch } from "./loader.js";
import type { SampleId } from "./picture-store.js";
import type { ResidentArrays } from "./resident-arrays.js";
import type { Sampler } from "./sampler.js";
import { upload } from "./upload.js";

/** Consecutive rows of a batch that belong together. */
export interface Rows {
  readonly index: number;
  readonly start: number;
  readonly count: number;
}

/** The rows of an evaluation, on the host and on the device. */
interface Listed {
  readonly rows: Int32Array;
  readonly onDevice: Tensor;
  /** The rows of each split. */
  readonly splits: readonly Rows[];
}

export interface ResidentOptions {
  readonly dataset: Dataset;
  readonly sampler: Sampler;
  readonly device: string;
  /** Whether pictures are in the channels-last memory format. */
  readonly channelsLast: boolean;
}

export class ResidentBatches implements Disposable {
  /** By the names of the evaluated splits, which are the same in most evaluations. */
  private readonly listed = new Map<string, Listed>();

  constructor(
    private readonly arrays: ResidentArrays,
    private readonly options: ResidentOptions,
    /** The use of the table, which ends with this object. */
    private readonly use: Disposable,
  ) {}

  [Symbol.dispose](): void {
    for (const { onDevice } of this.listed.values()) onDevice.dispose();
    this.listed.clear();
    this.use[Symbol.dispose]();
  }

  /** The samples at some rows, and their classes. */
  gather(rows: Tensor): { x: Tensor; y: Tensor } {
    return this.arrays.gather(rows, this.options.channelsLast);
  }

  /** The numbers of rows of the training domains in a batch. */
  countsAt(step: number): number[] {
    return this.options.sampler.batch(step).map(({ pictures }) => pictures.length);
  }

  /** The rows of the batch of a step. */
  rowsAt(step: number): Int32Array {
    const parts = this.options.sampler.batch(step);
    const rows = new Int32Array(parts.reduce((sum, { pictures }) => sum + pictures.length, 0));
    let next = 0;
    for (const { index: domain, pictures } of parts)
      for (const index of pictures) rows[next++] = this.arrays.rowOf({ domain, index });
    return rows;
  }

  /** The classes of the batch of a step. */
  labelsAt(step: number): number[] {
    return Array.from(this.rowsAt(step), (row) => this.arrays.labelAt(row));
  }

  /** The training batch of a step. */
  batch(step: number): EvaluatedBatch {
    const rows = this.rowsAt(step);
    return scope(() => this.made(rows, upload(rows, { device: this.options.device }), []));
  }

  /** Some splits in order, in batches. */
  *evaluate(
    splits: readonly { readonly domain: number; readonly indices: readonly number[] }[],
    { batchSize, mixed, key }: { batchSize: number; mixed: boolean; key: string },
  ): Generator<EvaluatedBatch, void, undefined> {
    const { rows, onDevice, splits: parts } = this.list(splits, key);
    for (const { start, count } of mixed ? [{ start: 0, count: rows.length }] : parts)
      for (const [from, to] of evenly(start, count, batchSize, mixed)) {
        const inside = parts.flatMap(({ index, ...part }) => {
          const [first, end] = [Math.max(from, part.start), Math.min(to, part.start + part.count)];
          return first < end ? [{ index, start: first - from, count: end - first }] : [];
        });
        yield scope(() => this.made(rows.subarray(from, to), onDevice.narrow(0, from, to - from), inside));
      }
  }

  private list(
    splits: readonly { readonly domain: number; readonly indices: readonly number[] }[],
    key: string,
  ): Listed {
    let found = this.listed.get(key);
    if (found) return found;
    const rows = Int32Array.from(
      splits.flatMap(({ domain, indices }) => indices.map((index) => this.arrays.rowOf({ domain, index }))),
    );
    let next = 0;
    const parts = splits.map(({ indices }, index): Rows => {
      next += indices.length;
      return { index, start: next - indices.length, count: indices.length };
    });
    found = { rows, onDevice: keep(upload(rows, { device: this.options.device })), splits: parts };
    this.listed.set(key, found);
    return found;
  }

  private made(rows: Int32Array, onDevice: Tensor, splits: readonly Rows[]): EvaluatedBatch {
    const { arrays } = this;
    const { dataset } = this.options;
    const { x, y } = this.gather(onDevice);
    for (const each of [x, y]) keep(each);
    const lazily = once((): { samples: SampleId[]; labels: number[]; domains: EvaluatedBatch["domains"] } => {
      const samples = Array.from(rows, (row) => arrays.sampleAt(row));
      return {
        samples,
        labels: samples.map(({ domain, index }) => dataset.domains[domain].labels[index]),
        domains: consecutive(samples, ({ domain }) => domain).map((part) => ({
          name: dataset.domains[part.index].name,
          ...part,
        })),
      };
    });
    return {
      ...{ x, y, splits },
      get samples() {
        return lazily().samples;
      },
      get labels() {
        return lazily().labels;
      },
      get domains() {
        return lazily().domains;
      },
      names: () => lazily().samples.map(({ domain, index }) => `${dataset.domains[domain].name}/${index}`),
      [Symbol.dispose]() {
        x.dispose();
        y.dispose();
      },
    };
  }
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Parts of at most `size`. If the size is free, they are of equal length, so that the last one is not much smaller. */
function* evenly(start: number, count: number, size: number, isFree: boolean): Generator<[from: number, to: number]> {
  const step = isFree ? Math.ceil(count / Math.ceil(count / size)) : size;
  for (let from = 0; from < count; from += step) yield [start + from, start + Math.min(count, from + step)];
}

/** Groups of consecutive samples of the same domain or split. */
export function consecutive<S>(samples: readonly S[], indexOf: (sample: S) => number): Rows[] {
  const rows: { index: number; start: number; count: number }[] = [];
  for (const [start, sample] of samples.entries()) {
    const index = indexOf(sample);
    const last = rows.at(-1);
    if (last?.index === index) last.count++;
    else rows.push({ index, start, count: 1 });
  }
  return rows;
}
