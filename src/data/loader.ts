/**
 * Batches: for training, the batch of any step; for evaluation, a split in order.
 *
 * The batch of a step depends on the seed and the step and on nothing else: pictures come from the sampler, and each sample's
 * augmentation is drawn from a stream of its own, (seed, "augment", step, domain, i). So a resumed run continues with the same
 * bytes, and read-ahead may prepare steps in any order. Read-ahead is bounded: at most `ahead` batches of pictures wait.
 *
 * What is augmented in evaluation is the reference testbed's choice: every part of a training domain. With
 * `augmentValidation: false`, SWAD's: the `in` part only. Test domains never are.
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
import { arraySource, type DrawSample, pictureSource, type SampleSource } from "./sample-source.js";
import { createSampler, type Sampler } from "./sampler.js";
import type { Split, SplitName } from "./split.js";
import { upload } from "./upload.js";

export interface LoaderOptions {
  dataset: Dataset;
  /** Where the pictures of a dataset of picture files come from; stays the caller's. */
  pictures?: PictureStore;
  split: Split;
  seed: number;
  /** The names of the training domains. */
  trainDomains: readonly string[];
  /** Samples of each training domain in a batch. */
  batchSize: number;
  classBalanced?: boolean;
  /** How training samples are augmented; null for no augmentation (default: as in DomainBed). */
  augmentation?: Augmentation | null;
  /** Whether the `out` part of training domains is augmented too, as in DomainBed (default: true). */
  augmentValidation?: boolean;
  /** Height and width of pictures in `evaluate`; the dataset's own by default. */
  evaluationSize?: number;
  device?: string;
  /** Whether pictures have their channels last in memory. */
  channelsLast?: boolean;
  /** What pictures are normalised with; ImageNet's by default. */
  colours?: Colours;
  /** How pictures become squares of the dataset's size; the whole picture is resized by default. */
  framing?: Framing;
  /** The number of batches to prepare ahead (default: 2). */
  ahead?: number;
  /** How many steps there will be: nothing is prepared beyond them. */
  steps?: number;
  /** What to do with a picture that cannot be read: leave it out (another is drawn in its place) or fail. */
  onBad?: "skip" | "fail";
}

/** Samples as tensors. Dispose of it when the step is done. */
export interface LoadedBatch extends Disposable {
  /** float32 [n, …]. */
  readonly x: Tensor;
  /** int64 [n]: the classes. */
  readonly y: Tensor;
  /** Which rows are of which domain, in order. */
  readonly domains: readonly {
    readonly name: string;
    readonly index: number;
    readonly start: number;
    readonly count: number;
  }[];
  /** The numbers in `y`. */
  readonly labels: readonly number[];
  readonly samples: readonly SampleId[];
  /** Each row's file or name, for reports. */
  names(): string[];
}

/** The rows of a batch by domain, as algorithms take them: views of it. */
export const byDomain = ({ x, y, domains }: LoadedBatch): { x: Tensor; y: Tensor }[] =>
  domains.map(({ start, count }) => ({ x: x.narrow(0, start, count), y: y.narrow(0, start, count) }));

/** Samples that are found, and wait to be made a batch. */
interface Prepared {
  readonly samples: readonly SampleId[];
  readonly found: readonly unknown[];
}

/** How often another picture is drawn in the place of one that cannot be read, before giving up. */
const mostReplacements = 100;

export class Loader {
  /** What is allowed but worth saying. */
  readonly notes: readonly string[];
  /** Pictures that could not be read and were skipped, and why. */
  readonly skipped = new Map<string, string>();
  private readonly source: SampleSource;
  /** The same samples in the size of evaluation. */
  private readonly evaluated: SampleSource;
  private readonly sampler: Sampler;
  private readonly waiting = new Map<number, Promise<Prepared>>();
  private readonly augmentation: Augmentation | null;
  private readonly training: ReadonlySet<string>;

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

  /** The training batch of a step; the next ones are prepared meanwhile. */
  async batch(step: number): Promise<LoadedBatch> {
    const { seed, ahead = 2, steps = Number.POSITIVE_INFINITY } = this.options;
    const prepared = this.prepare(step);
    for (const known of this.waiting.keys()) if (known < step || known > step + ahead) this.waiting.delete(known);
    for (let next = step + 1; next <= step + ahead && next < steps; next++) this.prepare(next);
    const { samples, found } = await prepared;
    this.waiting.delete(step);
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

  /** The samples of one part of a domain in order, in batches; unreadable ones are skipped. */
  async *evaluate(
    domainName: string,
    part: SplitName,
    { step = 0, batchSize = this.evaluationBatch }: { step?: number; batchSize?: number } = {},
  ): AsyncGenerator<LoadedBatch, void, undefined> {
    const domain = this.indexOf(domainName);
    const places = Array.from(partOf(this.options.split, domainName, part));
    const { augmentation } = this;
    const { seed, augmentValidation = true } = this.options;
    const augmented = augmentation !== null && this.training.has(domainName) && (part === "in" || augmentValidation);
    const wanted = places.map((index) => ({ domain, index }));
    for await (const { samples, found, lost } of inOrder(slices(wanted, batchSize), this.source)) {
      for (const [sample, problem] of lost) this.skip(sample, problem);
      if (samples.length === 0) continue;
      const draw: DrawSample = (i, width, height, into) => {
        const random = keyedRandom(seed, "evaluate", step, domain, samples[i].index);
        drawAugmentation(random, width, height, into, augmentation!);
      };
      yield this.make(this.evaluated, samples, found, augmented ? draw : this.evaluated.plain);
    }
  }

  /** As the reference has it; a GPU is not busy with so few. */
  private get evaluationBatch(): number {
    return (this.options.device ?? "cpu") === "cpu" ? 64 : 256;
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
    const outcomes = await Promise.all(samples.map((sample, i) => this.findOrReplace(sample, step, places[i])));
    const found = outcomes.map((outcome) => outcome.found);
    this.source.expect(found);
    return { samples: outcomes.map(({ sample }) => sample), found };
  }

  /** The sample, or, where it cannot be read, others of its domain's `in` part by draws that go with its place. */
  private findOrReplace(
    sample: SampleId,
    step: number,
    place: number,
  ): { sample: SampleId; found: unknown } | Promise<{ sample: SampleId; found: unknown }> {
    const outcome = this.source.find(sample);
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
      outcome = await this.source.find(current);
    }
    return { sample: current, found: outcome };
  }

  private skip(sample: SampleId, { problem }: LostPicture): void {
    if (this.options.onBad === "fail") throw new DataError(problem);
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
      domains: rowsOf(samples).map((rows) => ({ name: dataset.domains[rows.index].name, ...rows })),
      names: () => samples.map((sample) => this.source.nameOf(sample)),
      [Symbol.dispose]() {
        x.dispose();
        y.dispose();
      },
    };
  }

  private indexOf(name: string): number {
    const { dataset } = this.options;
    domainNamed(dataset, name); // an unknown one is an error that names the nearest
    return dataset.domains.findIndex((domain) => domain.name === name);
  }
}

function partOf(split: Split, domain: string, part: SplitName): readonly number[] {
  const parts = split.get(domain);
  if (!parts) throw new UsageError(`loader: the split has no domain "${domain}"`);
  return parts[part];
}

/** The places of samples among those of their domain in the batch: 0, 1, …, 0, 1, … */
function placesInDomains(samples: readonly SampleId[]): number[] {
  const seen = new Map<number, number>();
  return samples.map(({ domain }) => {
    const place = seen.get(domain) ?? 0;
    seen.set(domain, place + 1);
    return place;
  });
}

/** Runs of samples of one domain. */
function rowsOf(samples: readonly SampleId[]): { index: number; start: number; count: number }[] {
  const rows: { index: number; start: number; count: number }[] = [];
  for (const [i, { domain }] of samples.entries()) {
    const last = rows.at(-1);
    if (last?.index === domain) last.count++;
    else rows.push({ index: domain, start: i, count: 1 });
  }
  return rows;
}

/** Refuses a batch that this machine cannot hold; the network needs a multiple of it. */
function checkMemory({ inputShape }: Dataset, domains: number, batchSize: number): void {
  const bytes = 4 * inputShape.reduce((product, size) => product * size, domains * batchSize);
  if (bytes > totalmem())
    throw new UsageError(
      `batchSize ${batchSize}: a batch of ${domains} × ${batchSize} samples needs ${byteText(bytes)}, but this machine has ${byteText(totalmem())} of memory; reduce batchSize`,
    );
}
