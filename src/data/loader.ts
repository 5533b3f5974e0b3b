/**
 * Batches: for training, the batch of any step; for evaluation, a split in order.
 *
 * The batch of a step depends only on the seed and the step. The sampler chooses the pictures, and the augmentation of
 * each sample is drawn from its own random stream, (seed, "augment", step, domain, i). So a resumed run continues with
 * the same bytes, and read-ahead can prepare steps in any order. At most `ahead` batches of pictures are prepared.
 *
 * In evaluation, both splits of a training domain are augmented, as in the reference testbed. With `augmentValidation:
 * false`, only the `in` split is, as in SWAD. Test domains are never augmented.
 */
import { totalmem } from "node:os";
import { keyedRandom } from "../engine/philox.js";
import { allOrNothing, keep } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError, UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { type Augmentation, domainBedAugmentation, drawAugmentation } from "./augment.js";
import { type Dataset, domainNamed } from "./dataset.js";
import { type Framing, framingAt } from "./framing.js";
import { inOrder, isLost, quietly, slices } from "./in-order.js";
import type { Colours } from "./normalization.js";
import type { LostPicture, PictureStore, SampleId } from "./picture-store.js";
import { ResidentArrays, useTables } from "./resident-arrays.js";
import { consecutive, ResidentBatches } from "./resident-batches.js";
import { arraySource, type DrawSample, pictureSource, type SampleSource } from "./sample-source.js";
import { createSampler, type Sampler } from "./sampler.js";
import type { Split, SplitName } from "./split.js";
import { upload } from "./upload.js";

export interface LoaderOptions {
  dataset: Dataset;
  /** The source of the pictures of a dataset of picture files. The caller closes it. */
  pictures?: PictureStore;
  split: Split;
  seed: number;
  /** The names of the training domains. */
  trainDomains: readonly string[];
  /** The number of samples of each training domain in a batch. */
  batchSize: number;
  classBalanced?: boolean;
  /** The augmentation of training samples; null for none (default: as in DomainBed). */
  augmentation?: Augmentation | null;
  /** Whether the `out` split of training domains is augmented too, as in DomainBed (default: true). */
  augmentValidation?: boolean;
  /** The height and width of pictures in `evaluate`; by default those of the dataset. */
  evaluationSize?: number;
  /** Samples in a batch of `evaluate` (default: 64; on a GPU 256, and more for arrays that are there). */
  evaluationBatch?: number;
  device?: string;
  /** Whether pictures are in the channels-last memory format. */
  channelsLast?: boolean;
  /** The normalization of pictures; by default ImageNet's. */
  colours?: Colours;
  /** How pictures become squares of the dataset's size; the whole picture is resized by default. */
  framing?: Framing;
  /** The number of batches to prepare ahead (default: 2). */
  ahead?: number;
  /** The number of steps. Nothing is prepared beyond them. */
  steps?: number;
}

/** Samples as tensors. Dispose of it after the step. */
export interface LoadedBatch extends Disposable {
  /** float32 [n, …]. */
  readonly x: Tensor;
  /** int64 [n]: the classes. */
  readonly y: Tensor;
  /** The domain of each row, in order. */
  readonly domains: readonly {
    readonly name: string;
    readonly index: number;
    readonly start: number;
    readonly count: number;
  }[];
  /** The values of `y`. */
  readonly labels: readonly number[];
  readonly samples: readonly SampleId[];
  /** The file or name of each row, for reports. */
  names(): string[];
}

/** A batch of an evaluation. */
export interface EvaluatedBatch extends LoadedBatch {
  /** The split of each row, in order, as its index among the evaluated splits. */
  readonly splits: readonly { readonly index: number; readonly start: number; readonly count: number }[];
}

/** The number of samples in a batch of an evaluation in DomainBed. Predictions that depend on the batch need it. */
export const REFERENCE_BATCH = 64;

export interface EvaluationOptions {
  /** The draws of augmented samples depend on it (default: 0). */
  step?: number;
  batchSize?: number;
  /** Whether a batch may contain rows of several splits, so that only the last one is smaller (default: false). */
  mixed?: boolean;
}

/** Views of the batch by domain, as algorithms receive them. */
export const byDomain = ({ x, y, domains }: LoadedBatch): { x: Tensor; y: Tensor }[] =>
  domains.map(({ start, count }) => ({ x: x.narrow(0, start, count), y: y.narrow(0, start, count) }));

/** Samples that were found and are not a batch yet. */
interface Prepared {
  readonly samples: readonly SampleId[];
  readonly found: readonly unknown[];
}

/** A sample of an evaluation, with the index of its split among the evaluated ones. */
interface Wanted extends SampleId {
  readonly split: number;
}

/** The number of arrays in a batch of an evaluation on a GPU, which is fed by row numbers only. */
const RESIDENT_BATCH = 1000;

/** The maximum number of draws that replace an unreadable picture. */
const mostReplacements = 100;

/** Dispose of it after the last batch: arrays may be in the memory of the device. The pictures are the caller's. */
export class Loader implements Disposable {
  /** Warnings about valid but unusual settings. */
  readonly notes: readonly string[];
  /** Pictures that could not be read and were skipped, and why. */
  readonly skipped = new Map<string, string>();
  private readonly source: SampleSource;
  /** The same samples at the size of evaluation. */
  private readonly evaluated: SampleSource;
  private readonly sampler: Sampler;
  private readonly waiting = new Map<number, Promise<Prepared>>();
  private readonly augmentation: Augmentation | null;
  private readonly training: ReadonlySet<string>;
  private inMemory: ResidentBatches | null | undefined;

  constructor(private readonly options: LoaderOptions) {
    const { dataset, pictures, split, seed, batchSize, classBalanced, device = "cpu" } = options;
    const { channelsLast = false, colours, framing = {} } = options;
    const making = { device, channelsLast, colours, framing };
    checkMemory(dataset, options.trainDomains.length, batchSize);
    this.training = new Set(options.trainDomains);
    this.augmentation = dataset.augmentable
      ? options.augmentation === undefined
        ? domainBedAugmentation
        : options.augmentation
      : null;
    if (dataset.kind === "pictures" && !pictures)
      throw new UsageError(
        `loader: dataset ${dataset.id} has picture files: open them first, with openPictures(dataset)`,
      );
    this.source = (
      dataset.kind === "arrays"
        ? arraySource(dataset, making)
        : pictureSource(dataset, pictures as PictureStore, making)
    ) as SampleSource;
    const { evaluationSize: size } = options;
    this.evaluated =
      dataset.kind === "pictures" && size !== undefined
        ? (pictureSource({ ...dataset, inputShape: [dataset.inputShape[0], size, size] }, pictures as PictureStore, {
            ...making,
            framing: framingAt(framing, dataset.inputShape[1], size),
          }) as SampleSource)
        : this.source;
    const domains = options.trainDomains.map((name) => {
      const { labels } = domainNamed(dataset, name);
      return { name, index: this.indexOf(name), pictures: partOf(split, name, "in"), labels };
    });
    this.sampler = createSampler({ seed, batchSize, domains, classBalanced });
    this.notes = this.sampler.notes;
  }

  /** The batches of arrays that are in the memory of the device; null for other samples. */
  get resident(): ResidentBatches | null {
    if (this.inMemory === undefined) {
      const { dataset, device = "cpu", split, channelsLast = false } = this.options;
      if (dataset.kind !== "arrays") this.inMemory = null;
      else {
        const use = useTables(dataset);
        try {
          const arrays = ResidentArrays.of(dataset, device, split);
          const options = { dataset, sampler: this.sampler, device, channelsLast };
          this.inMemory = arrays && new ResidentBatches(arrays, options, use);
        } finally {
          if (!this.inMemory) use[Symbol.dispose]();
        }
      }
    }
    return this.inMemory;
  }

  [Symbol.dispose](): void {
    this.inMemory?.[Symbol.dispose]();
    this.inMemory = undefined;
  }

  /** The training batch of a step. The next ones are prepared in the background. */
  async batch(step: number): Promise<LoadedBatch> {
    if (this.resident) return this.resident.batch(step);
    const { seed, ahead = 2, steps = Number.POSITIVE_INFINITY } = this.options;
    const prepared = this.prepare(step);
    // Also the batch of this step: a store gives its pixels once.
    for (const known of this.waiting.keys()) if (known <= step || known > step + ahead) this.waiting.delete(known);
    for (let next = step + 1; next <= step + ahead && next < steps; next++) this.prepare(next);
    const { samples, found } = await prepared;
    const { augmentation } = this;
    const places = placesInDomains(samples);
    const draw: DrawSample =
      augmentation === null
        ? this.source.plain
        : (i, width, height, into) => {
            const random = keyedRandom(seed, "augment", step, samples[i].domain, places[i]);
            drawAugmentation(random, width, height, into, augmentation);
          };
    return this.make(this.source, samples, found, draw);
  }

  /** The samples of one split of a domain in order, in batches. Unreadable ones are skipped. */
  evaluate(
    domain: string,
    part: SplitName,
    options: EvaluationOptions = {},
  ): AsyncGenerator<EvaluatedBatch, void, undefined> {
    return this.evaluateSplits([{ domain, part }], options);
  }

  /** The samples of some splits in order, in batches. Unreadable ones are skipped. */
  async *evaluateSplits(
    splits: readonly { readonly domain: string; readonly part: SplitName }[],
    { step = 0, batchSize = this.evaluationBatch, mixed = false }: EvaluationOptions = {},
  ): AsyncGenerator<EvaluatedBatch, void, undefined> {
    if (this.resident) {
      const asked = splits.map(({ domain: name, part }) => ({
        domain: this.indexOf(name),
        indices: partOf(this.options.split, name, part),
      }));
      yield* this.resident.evaluate(asked, { batchSize, mixed, key: JSON.stringify(splits) });
      return;
    }
    const { augmentation, evaluated } = this;
    const { seed, augmentValidation = true } = this.options;
    const isAugmented = splits.map(
      ({ domain, part }) => augmentation !== null && this.training.has(domain) && (part === "in" || augmentValidation),
    );
    const wanted = splits.map(({ domain: name, part }, split) => {
      const domain = this.indexOf(name);
      return Array.from(partOf(this.options.split, name, part), (index): Wanted => ({ domain, index, split }));
    });
    const batches = (mixed ? [wanted.flat()] : wanted).flatMap((samples) => [...slices(samples, batchSize)]);
    for await (const { samples, found, lost } of inOrder<Wanted, unknown>(batches, this.source)) {
      for (const [sample, problem] of lost) this.skip(sample, problem);
      if (samples.length === 0) continue;
      const draw: DrawSample = (i, width, height, into) => {
        const { domain, index, split } = samples[i];
        if (!isAugmented[split]) return evaluated.plain(i, width, height, into);
        drawAugmentation(keyedRandom(seed, "evaluate", step, domain, index), width, height, into, augmentation!);
      };
      yield { ...this.make(evaluated, samples, found, draw), splits: consecutive(samples, ({ split }) => split) };
    }
  }

  private get evaluationBatch(): number {
    const { evaluationBatch, device = "cpu" } = this.options;
    if (evaluationBatch !== undefined || device === "cpu") return evaluationBatch ?? REFERENCE_BATCH;
    return this.resident ? RESIDENT_BATCH : 256; // few samples do not keep a GPU busy
  }

  private prepare(step: number): Promise<Prepared> {
    const known = this.waiting.get(step);
    if (known) return known;
    const prepared = quietly(this.drawAndFind(step));
    this.waiting.set(step, prepared);
    return prepared;
  }

  private async drawAndFind(step: number): Promise<Prepared> {
    const samples = this.sampler
      .batch(step)
      .flatMap(({ index: domain, pictures }) => Array.from(pictures, (index): SampleId => ({ domain, index })));
    const places = placesInDomains(samples);
    const found = this.source.find(samples);
    const outcomes = await Promise.all(samples.map((sample, i) => this.orReplaced(found[i], sample, step, places[i])));
    const available = outcomes.map((outcome) => outcome.found);
    this.source.expect(available);
    return { samples: outcomes.map(({ sample }) => sample), found: available };
  }

  /**
   * The sample or, if it cannot be read, another one of the `in` split of its domain, by draws that depend on its position.
   */
  private orReplaced(
    outcome: unknown,
    sample: SampleId,
    step: number,
    place: number,
  ): { sample: SampleId; found: unknown } | Promise<{ sample: SampleId; found: unknown }> {
    if (!(outcome instanceof Promise) && !isLost(outcome)) return { sample, found: outcome };
    return this.replaced(sample, step, place, outcome);
  }

  private async replaced(sample: SampleId, step: number, place: number, first: unknown) {
    const { dataset, split, seed } = this.options;
    const { domain } = sample;
    const { name } = dataset.domains[domain];
    const random = keyedRandom(seed, "replace", step, domain, place);
    const choices = partOf(split, name, "in");
    let [current, outcome] = [sample, await first];
    for (let attempt = 0; isLost(outcome); attempt++) {
      this.skip(current, outcome);
      if (attempt === mostReplacements)
        throw new DataError(
          `training domain "${name}": ${mostReplacements} pictures in a row cannot be read; the last: ${outcome.problem}`,
        );
      current = { domain, index: choices[random.integer(choices.length)] };
      outcome = await this.source.find([current])[0];
    }
    return { sample: current, found: outcome };
  }

  /** The problem of the first picture of a split that was skipped, if there is one. */
  problemIn(domain: string, part: SplitName): string | undefined {
    const place = this.indexOf(domain);
    return Array.from(partOf(this.options.split, domain, part), (index) =>
      this.skipped.get(this.source.nameOf({ domain: place, index })),
    ).find((problem) => problem !== undefined);
  }

  private skip(sample: SampleId, { problem }: LostPicture): void {
    this.skipped.set(this.source.nameOf(sample), problem);
  }

  private make(
    source: SampleSource,
    samples: readonly SampleId[],
    found: readonly unknown[],
    draw: DrawSample,
  ): LoadedBatch {
    const { dataset, device = "cpu" } = this.options;
    const labels = samples.map(({ domain, index }) => dataset.domains[domain].labels[index]);
    const { x, y } = allOrNothing(() => ({
      x: keep(source.make(found, draw)),
      y: keep(upload(labels, { dtype: "int64", device })),
    }));
    return {
      x,
      y,
      labels,
      samples,
      domains: consecutive(samples, ({ domain }) => domain).map((rows) => ({
        name: dataset.domains[rows.index].name,
        ...rows,
      })),
      names: () => samples.map((sample) => this.source.nameOf(sample)),
      [Symbol.dispose]() {
        x.dispose();
        y.dispose();
      },
    };
  }

  private indexOf(name: string): number {
    const { dataset } = this.options;
    domainNamed(dataset, name); // for an unknown name, the error suggests the closest
    return dataset.domains.findIndex((domain) => domain.name === name);
  }
}

function partOf(split: Split, domain: string, part: SplitName): readonly number[] {
  const parts = split.get(domain);
  if (!parts) throw new UsageError(`loader: the split has no domain "${domain}"`);
  return parts[part];
}

/** The indices of samples among those of their domain in the batch: 0, 1, …, 0, 1, … */
function placesInDomains(samples: readonly SampleId[]): number[] {
  const seen = new Map<number, number>();
  return samples.map(({ domain }) => {
    const place = seen.get(domain) ?? 0;
    seen.set(domain, place + 1);
    return place;
  });
}

/** Throws if the memory of this machine cannot hold a batch. The network needs a multiple of it. */
function checkMemory({ inputShape }: Dataset, domains: number, batchSize: number): void {
  const bytes = 4 * inputShape.reduce((product, size) => product * size, domains * batchSize);
  if (bytes > totalmem())
    throw new UsageError(
      `batchSize ${batchSize}: a batch of ${domains} × ${batchSize} samples needs ${byteText(bytes)}, but this machine has ${byteText(totalmem())} of memory; reduce batchSize`,
    );
}
