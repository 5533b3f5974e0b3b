/**
 * A labelled dataset as batches for a model. Its classes are matched to those of the model by name, its samples are
 * preprocessed as in the evaluations of training, and domains come one after the other, in order.
 */

import { resolve } from "node:path";
import type { Dataset, Domain } from "../data/dataset.js";
import { domainsNamed } from "../data/dataset.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { inOrder, slices } from "../data/in-order.js";
import { arraySource, givenPictures, plainTensor, type SampleSource } from "../data/sample-source.js";
import { countOf, listNames } from "../data/show-name.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError, UsageError } from "../errors.js";
import type { Model } from "./model.js";

/** A sample and its class. */
export interface LabelledSample {
  /** Its file relative to the dataset's folder, or its name. */
  readonly name: string;
  readonly domain: string;
  /** The index of its class among those of the model, or among those of the dataset if requested. */
  readonly label: number;
}

/** Samples as a tensor. Dispose of it after use. */
export interface LabelledBatch extends Disposable {
  readonly x: Tensor | null;
  readonly samples: readonly LabelledSample[];
  /** Samples that could not be read, and why. */
  readonly problems: ReadonlyMap<string, string>;
}

export interface DatasetChoice {
  /** Only these domains. */
  readonly domains?: readonly string[];
  /** At most this many samples of each domain, evenly spaced. */
  readonly limit?: number;
  /** Only samples with these names. */
  readonly only?: ReadonlySet<string>;
  /**
   * The class indices of labels: those of the model (the default; samples of other classes are skipped), or those of
   * the dataset (all samples are used).
   */
  readonly labels?: "model" | "dataset";
}

/** How the classes of a dataset correspond to those of a model. */
export interface ClassMatch {
  /** For each class of the dataset, its index among those of the model; undefined if the model does not know it. */
  readonly places: readonly (number | undefined)[];
  /** Classes of the dataset that the model does not know. */
  readonly unknown: readonly string[];
  /** Classes of the model that the dataset does not have. */
  readonly missing: readonly string[];
}

/** A name without differences in spelling. Symbols count, because C and C++ are different. */
const withoutSeparators = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s_-]+/gu, "");

/** Matches classes by name; if that fails, ignoring case, spaces, hyphens and underscores. */
export function matchClasses(model: readonly string[], dataset: readonly string[]): ClassMatch {
  const plain = model.map(withoutSeparators);
  const places = dataset.map((name) => {
    const exact = model.indexOf(name);
    if (exact >= 0) return exact;
    const near = plain.indexOf(withoutSeparators(name));
    // Names that differ only in these are matched exactly.
    return near >= 0 && plain.indexOf(plain[near], near + 1) < 0 && !dataset.includes(model[near]) ? near : undefined;
  });
  return {
    places,
    unknown: dataset.filter((_, i) => places[i] === undefined),
    missing: model.filter((_, i) => !places.includes(i)),
  };
}

/** A dataset prepared for a model: the chosen samples, and notes for the user. */
export class ModelDataset {
  readonly match: ClassMatch;
  /** The chosen samples of each domain, by index. */
  readonly chosen: readonly { readonly domain: Domain; readonly places: readonly number[] }[];
  /** The exclusions, as text. */
  readonly notes: readonly string[];

  constructor(
    private readonly model: Model,
    private readonly dataset: Dataset,
    { domains, limit = Number.POSITIVE_INFINITY, labels = "model", only }: DatasetChoice = {},
  ) {
    this.match = matchClasses(labels === "model" ? model.classes : dataset.classes, dataset.classes);
    const { places, unknown, missing } = this.match;
    if (unknown.length === dataset.classes.length)
      throw new UsageError(
        `none of the dataset's classes (${listNames(dataset.classes)}) is one of the model's (${listNames(model.classes)})`,
      );
    checkShape(model, dataset);
    const wanted = domains ? domainsNamed(dataset, domains) : dataset.domains;
    let skipped = 0;
    this.chosen = wanted.map((domain) => {
      const all = Array.from(domain.labels.keys()).filter((i) => !only || only.has(nameOf(domain, i)));
      const known = all.filter((i) => places[domain.labels[i]] !== undefined);
      skipped += all.length - known.length;
      return { domain, places: evenlyChosen(known, limit) };
    });
    this.notes = [
      ...dataset.notes.filter((note) => /\bskipped\b/.test(note)), // other notes concern training
      ...(unknown.length > 0
        ? [`skipped ${countOf(skipped, "picture")} of classes that the model does not know (${listNames(unknown)})`]
        : []),
      ...(missing.length > 0 ? [`classes of the model without pictures: ${listNames(missing)}`] : []),
      ...(limit < Number.POSITIVE_INFINITY ? [`at most ${limit} pictures of each domain`] : []),
    ];
    if (this.count === 0) throw new DataError("the dataset has no picture of a class that the model knows");
  }

  /** The number of chosen samples. */
  get count(): number {
    return this.chosen.reduce((sum, { places }) => sum + places.length, 0);
  }

  /** The samples in batches. No batch spans two domains. */
  async *batches(batchSize = 64): AsyncGenerator<LabelledBatch, void, undefined> {
    for (const { domain, places } of this.chosen) {
      const { find, make, plain, started } = this.sourceOf(domain);
      const at = (this.dataset.domains as readonly Domain[]).indexOf(domain);
      const finder = {
        find: (indices: readonly number[]) => find(indices.map((index) => ({ domain: at, index }))),
        started,
      };
      for await (const { samples, found, lost } of inOrder(slices(places, batchSize), finder)) {
        const x = plainTensor({ make, plain }, found);
        yield {
          x,
          samples: samples.map((i) => this.sample(domain, i)),
          problems: new Map(Array.from(lost, ([i, { problem }]) => [this.sample(domain, i).name, problem])),
          [Symbol.dispose]: () => x?.dispose(),
        };
      }
    }
  }

  private sample(domain: Domain, i: number): LabelledSample {
    return { name: nameOf(domain, i), domain: domain.name, label: this.match.places[domain.labels[i]]! };
  }

  private sourceOf({ files }: Domain): Pick<SampleSource, "find" | "make" | "plain" | "started"> {
    const { dataset } = this;
    const { preprocessing } = this.model.about;
    const colours = preprocessing.kind === "pictures" ? preprocessing : undefined;
    if (dataset.kind === "arrays")
      return arraySource(dataset, { device: "cpu", channelsLast: false, colours }) as Pick<
        SampleSource,
        "find" | "make" | "plain"
      >;
    if (preprocessing.kind !== "pictures")
      throw new UsageError(`model ${this.model.path}: it does not accept pictures`);
    const paths = files!.map((file) => resolve(dataset.root, file));
    return givenPictures(paths, { ...preprocessing, upright: dataset.upright }) as Pick<
      SampleSource,
      "find" | "make" | "plain" | "started"
    >;
  }
}

/** The name of a sample. */
const nameOf = ({ name, files }: Domain, i: number): string => files?.[i] ?? `${name}/${i}`;

/** Arrays must have the shape of the model's input; pictures are resized to it. */
function checkShape({ about: { preprocessing }, path }: Model, dataset: Dataset): void {
  const { inputShape } = preprocessing;
  if (dataset.kind === "arrays" && `${dataset.inputShape}` !== `${inputShape}`)
    throw new UsageError(
      `model ${path}: expected samples [${inputShape.join(", ")}], but those of dataset ${dataset.id} are [${dataset.inputShape.join(", ")}]`,
    );
  if (dataset.kind === "pictures" && preprocessing.kind !== "pictures")
    throw new UsageError(`model ${path}: it expects arrays of shape [${inputShape.join(", ")}], not pictures`);
}
