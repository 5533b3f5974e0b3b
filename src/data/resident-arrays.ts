/**
 * The arrays of a dataset in the memory of one device. Batches are gathered there by row number, so that the host handles
 * no samples. Bytes stay as the dataset has them, with interleaved channels. When they are gathered, they become floats up to 1
 * with the channels first.
 *
 * The table is made once for a dataset and device, and shared by all loaders and runs of the process.
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

/** By dataset and device. A null means that there is no table for it. */
const tables = new WeakMap<ArrayDataset, Map<string, ResidentArrays | null>>();
/** Frees the tensors of tables whose dataset is no longer used. */
const unused = new FinalizationRegistry<readonly Tensor[]>((tensors) => {
  for (const each of tensors) each.dispose();
});

export class ResidentArrays {
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
    unused.register(this, largest ? [table, classes, largest] : [table, classes]);
  }

  /**
   * Returns the table with all samples of a split. Returns null if the dataset is too large or mixes bytes and floats, and for pictures
   * that are augmented.
   */
  static of(dataset: ArrayDataset, device: string, split: Split): ResidentArrays | null {
    const byDevice = tables.get(dataset) ?? new Map<string, ResidentArrays | null>();
    tables.set(dataset, byDevice);
    const found = byDevice.get(device);
    if (found === null) return null;
    const wanted = rowsOf(dataset, split, found?.known);
    if (found && wanted.every((is, row) => is === 0 || found.known[row] === 1)) return found;
    const made = ResidentArrays.read(dataset, device, wanted);
    byDevice.set(device, made);
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
      const at = (made: Tensor): Tensor => keep(scope(() => made.to({ device })));
      const shape = made instanceof Uint8Array ? [length / inputShape[0], inputShape[0]] : inputShape;
      const table = at(tensor(made, { shape: [wanted.length, ...shape] }));
      const labels = BigInt64Array.from(domains.flatMap((domain) => Array.from(domain.labels, BigInt)));
      const largest = made instanceof Uint8Array ? at(tensor(Float32Array.of(255), { shape: [] })) : null;
      return new ResidentArrays(dataset, wanted, table, at(tensor(labels)), largest);
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
