/**
 * The arrays of a dataset in the memory of one device. Batches are gathered there by row number, so that the host handles
 * no samples. Bytes stay as the dataset has them, with interleaved channels. When they are gathered, they become floats up to 1
 * with the channels first.
 *
 * The table is made once for a dataset and device, and shared by all loaders that use the dataset at a time. It is freed when the last
 * of them ends its use.
 */

import { allOrNothing, keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import type { ArrayDataset } from "./dataset.js";
import type { SampleId } from "./picture-store.js";
import { checkLength } from "./sample-source.js";
import type { Split } from "./split.js";

type Sample = Uint8Array | Float32Array;

/** The largest table. Larger datasets are read sample by sample. */
const MOST_BYTES = 2 ** 29;

/** The tables of a dataset. */
interface Tables {
  /** The current table of each device. A null means that there is none for it. */
  readonly byDevice: Map<string, ResidentArrays | null>;
  /** All tables that were made, because an earlier one with fewer samples may still be used. */
  readonly made: ResidentArrays[];
  users: number;
}

const tables = new WeakMap<ArrayDataset, Tables>();

function tablesOf(dataset: ArrayDataset): Tables {
  const found = tables.get(dataset) ?? { byDevice: new Map(), made: [], users: 0 };
  tables.set(dataset, found);
  return found;
}

/** Keeps the tables of a dataset until the returned object is disposed of. The last one that is disposed of frees them. */
export function useTables(dataset: ArrayDataset): Disposable {
  const used = tablesOf(dataset);
  used.users++;
  let hasEnded = false;
  return {
    [Symbol.dispose]() {
      if (hasEnded) return;
      hasEnded = true;
      if (--used.users > 0) return;
      for (const each of used.made.splice(0)) each[Symbol.dispose]();
      used.byDevice.clear();
    },
  };
}

/** The last resort for tables that nobody declared to use. */
const unused = new FinalizationRegistry<readonly Tensor[]>((tensors) => {
  for (const each of tensors) each.dispose();
});

export class ResidentArrays implements Disposable {
  /** The row of the first sample of each domain. */
  private readonly starts: readonly number[];

  private constructor(
    private readonly dataset: ArrayDataset,
    /** For each row, 1 if the table has its sample. */
    private readonly known: Uint8Array,
    private readonly table: Tensor,
    private readonly classes: Tensor,
    /** 255 on the device for bytes; null for floats. */
    private readonly largest: Tensor | null,
  ) {
    this.starts = startsOf(dataset);
    unused.register(this, this.tensors);
  }

  private get tensors(): Tensor[] {
    return [this.table, this.classes, ...(this.largest ? [this.largest] : [])];
  }

  [Symbol.dispose](): void {
    for (const each of this.tensors) each.dispose();
  }

  /**
   * Returns the table with all samples of a split. Returns null if the dataset is too large or mixes bytes and floats, and for pictures
   * that are augmented. The caller declares the use of the dataset first (`useTables`).
   */
  static of(dataset: ArrayDataset, device: string, split: Split): ResidentArrays | null {
    const { byDevice, made: all } = tablesOf(dataset);
    const found = byDevice.get(device);
    if (found === null) return null;
    const wanted = rowsOf(dataset, split, found?.known);
    if (found && wanted.every((is, row) => is === 0 || found.known[row] === 1)) return found;
    const made = ResidentArrays.read(dataset, device, wanted);
    byDevice.set(device, made);
    if (made) all.push(made);
    return made;
  }

  private static read(dataset: ArrayDataset, device: string, wanted: Uint8Array): ResidentArrays | null {
    const { inputShape, augmentable, domains } = dataset;
    const length = inputShape.reduce((product, each) => product * each, 1);
    if (augmentable) return null;
    let values: Sample | undefined;
    for (const [d, start] of startsOf(dataset).entries())
      for (let i = 0; i < domains[d].count; i++) {
        if (wanted[start + i] === 0) continue;
        const sample = domains[d].read(i);
        checkLength(dataset, sample, length);
        const isFloat = sample instanceof Float32Array;
        if (!values) {
          if (wanted.length * length * (isFloat ? 4 : 1) > MOST_BYTES) return null;
          values = new (isFloat ? Float32Array : Uint8Array)(wanted.length * length);
        }
        if (values instanceof Float32Array !== isFloat) return null;
        values.set(sample, (start + i) * length);
      }
    if (!values) return null;
    const made = values;
    return allOrNothing(() => {
      const at = (onHost: () => Tensor): Tensor => keep(scope(() => onHost().to({ device })));
      const shape = made instanceof Uint8Array ? [length / inputShape[0], inputShape[0]] : inputShape;
      const table = at(() => tensor(made, { shape: [wanted.length, ...shape] }));
      const labels = BigInt64Array.from(domains.flatMap((domain) => Array.from(domain.labels, BigInt)));
      const largest = made instanceof Uint8Array ? at(() => tensor(Float32Array.of(255), { shape: [] })) : null;
      const classes = at(() => tensor(labels));
      return new ResidentArrays(dataset, wanted, table, classes, largest);
    });
  }

  /** The row of a sample. */
  rowOf({ domain, index }: SampleId): number {
    return this.starts[domain] + index;
  }

  /** The sample of a row. */
  sampleAt(row: number): SampleId {
    let domain = this.starts.length - 1;
    while (this.starts[domain] > row) domain--;
    return { domain, index: row - this.starts[domain] };
  }

  labelAt(row: number): number {
    const { domain, index } = this.sampleAt(row);
    return this.dataset.domains[domain].labels[index];
  }

  nameAt(row: number): string {
    const { domain, index } = this.sampleAt(row);
    return `${this.dataset.domains[domain].name}/${index}`;
  }

  /** The samples at some rows, float32 [n, …], and their classes, int64 [n]. */
  gather(rows: Tensor, channelsLast = false): { x: Tensor; y: Tensor } {
    return noGrad(() =>
      scope(() => {
        const taken = this.table.indexSelect(0, rows);
        const samples = this.largest ? this.channelsFirst(taken.div(this.largest)) : taken;
        // Only pictures have channels to put last; features of a frozen network are vectors.
        const isLast = channelsLast && samples.shape.length === 4;
        const x = isLast ? samples.to({ memoryFormat: "channels_last" }) : withPlainStrides(samples);
        return { x, y: this.classes.indexSelect(0, rows) };
      }),
    );
  }

  /** A view of samples [n, pixels, channels] in the shape of inputs. */
  private channelsFirst(samples: Tensor): Tensor {
    const [channels, ...size] = this.dataset.inputShape;
    return samples.view(-1, ...size, channels).permute(0, size.length + 1, ...size.map((_, i) => i + 1));
  }
}

/**
 * Returns a contiguous tensor. One channel is contiguous with any stride, but libtorch takes some strides for channels last and
 * then uses other kernels.
 */
function withPlainStrides(x: Tensor): Tensor {
  return x.contiguous().view(-1).view(x.shape);
}

function startsOf({ domains }: ArrayDataset): number[] {
  let next = 0;
  return domains.map(({ count }) => {
    next += count;
    return next - count;
  });
}

/** For each row, whether the split or the table before has it. */
function rowsOf(dataset: ArrayDataset, split: Split, known?: Uint8Array): Uint8Array {
  const starts = startsOf(dataset);
  const wanted = known?.slice() ?? new Uint8Array(dataset.domains.reduce((sum, { count }) => sum + count, 0));
  for (const [d, { name }] of dataset.domains.entries()) {
    const parts = split.get(name);
    for (const part of parts ? [parts.in, parts.out, parts.uda] : [])
      for (const index of part) wanted[starts[d] + index] = 1;
  }
  return wanted;
}
