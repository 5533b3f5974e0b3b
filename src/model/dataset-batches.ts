/**
 * A labelled dataset as batches for a model: its classes matched to the model's by name, its samples made as in the
 * evaluations of training, a domain at a time and in its order.
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
  /** Its file, relative to the dataset's folder, or its name. */
  readonly name: string;
  readonly domain: string;
  /** The place of its class among the model's, or the dataset's own where that was asked for. */
  readonly label: number;
}

/** Samples as a tensor; dispose of it when it is done with. */
export interface LabelledBatch extends Disposable {
  readonly x: Tensor | null;
  readonly samples: readonly LabelledSample[];
  /** Samples that could not be read, and why. */
  readonly problems: ReadonlyMap<string, string>;
}

export interface DatasetChoice {
  /** These domains only. */
  readonly domains?: readonly string[];
  /** At most so many samples of each domain, evenly from its order. */
  readonly limit?: number;
  /** Whose classes labels are: the model's, and samples of others are left out (unless told); or the dataset's, and all are taken. */
  readonly labels?: "model" | "dataset";
}

/** How a dataset's classes go with a model's. */
export interface ClassMatch {
  /** Of each class of the dataset, its place among the model's; undefined where the model does not know it. */
  readonly places: readonly (number | undefined)[];
  /** Classes of the dataset that the model does not know. */
  readonly unknown: readonly string[];
  /** Classes of the model that the dataset does not have. */
  readonly missing: readonly string[];
}

/** A name without what people write differently; signs count, since C and C++ are two things. */
const withoutSeparators = (name: string): string =>
  name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\s_-]+/gu, "");

/** Matches classes by name; where that fails, without regard to case, spaces, hyphens and underscores. */
export function matchClasses(model: readonly string[], dataset: readonly string[]): ClassMatch {
  const plain = model.map(withoutSeparators);
  const places = dataset.map((name) => {
    const exact = model.indexOf(name);
    if (exact >= 0) return exact;
    const near = plain.indexOf(withoutSeparators(name));
    // Names that differ in nothing else than that are told apart by it.
    return near >= 0 && plain.indexOf(plain[near], near + 1) < 0 && !dataset.includes(model[near]) ? near : undefined;
  });
  return {
    places,
    unknown: dataset.filter((_, i) => places[i] === undefined),
    missing: model.filter((_, i) => !places.includes(i)),
  };
}

/** A dataset that a model is to be shown: which samples, and what a person should know about it. */
export class ModelDataset {
  readonly match: ClassMatch;
  /** The chosen samples of each domain, by their places in it. */
  readonly chosen: readonly { readonly domain: Domain; readonly places: readonly number[] }[];
  /** What was left out, in words. */
  readonly notes: readonly string[];

  constructor(
    private readonly model: Model,
    private readonly dataset: Dataset,
    { domains, limit = Number.POSITIVE_INFINITY, labels = "model" }: DatasetChoice = {},
  ) {
    this.match = matchClasses(labels === "model" ? model.classes : dataset.classes, dataset.classes);
    const { places, unknown, missing } = this.match;
    if (unknown.length === dataset.classes.length)
      throw new UsageError(
        `none of the dataset's classes (${listNames(dataset.classes)}) is one of the model's (${listNames(model.classes)})`,
      );
    checkShape(model, dataset);
    const wanted = domains ? domainsNamed(dataset, domains) : dataset.domains;
    let leftOut = 0;
    this.chosen = wanted.map((domain) => {
      const known = Array.from(domain.labels.keys()).filter((i) => places[domain.labels[i]] !== undefined);
      leftOut += domain.count - known.length;
      return { domain, places: evenlyChosen(known, limit) };
    });
    this.notes = [
      ...dataset.notes.filter((note) => /\bleft out\b/.test(note)), // others are about training
      ...(unknown.length > 0
        ? [`left out: ${countOf(leftOut, "picture")} of classes the model does not know (${listNames(unknown)})`]
        : []),
      ...(missing.length > 0 ? [`classes of the model without pictures: ${listNames(missing)}`] : []),
      ...(limit < Number.POSITIVE_INFINITY ? [`at most ${limit} pictures of each domain`] : []),
    ];
    if (this.count === 0) throw new DataError("the dataset has no picture of a class that the model knows");
  }

  /** How many samples were chosen. */
  get count(): number {
    return this.chosen.reduce((sum, { places }) => sum + places.length, 0);
  }

  /** The samples in batches, none of which spans two domains. */
  async *batches(batchSize = 64): AsyncGenerator<LabelledBatch, void, undefined> {
    for (const { domain, places } of this.chosen) {
      const { find, make } = this.sourceOf(domain);
      const at = (this.dataset.domains as readonly Domain[]).indexOf(domain);
      const finder = { find: (index: number) => find({ domain: at, index }) };
      for await (const { samples, found, lost } of inOrder(slices(places, batchSize), finder)) {
        const x = plainTensor({ make }, found);
        yield {
          x,
          samples: samples.map((i) => this.sample(domain, i)),
          problems: new Map(Array.from(lost, ([i, { problem }]) => [this.sample(domain, i).name, problem])),
          [Symbol.dispose]: () => x?.dispose(),
        };
      }
    }
  }

  private sample({ name: domain, labels, files }: Domain, i: number): LabelledSample {
    return { name: files?.[i] ?? `${domain}/${i}`, domain, label: this.match.places[labels[i]]! };
  }

  private sourceOf({ files }: Domain): Pick<SampleSource, "find" | "make"> {
    const { dataset } = this;
    const { preprocessing } = this.model.about;
    const colours = preprocessing.kind === "pictures" ? preprocessing : undefined;
    if (dataset.kind === "arrays")
      return arraySource(dataset, { device: "cpu", channelsLast: false, colours }) as Pick<
        SampleSource,
        "find" | "make"
      >;
    if (preprocessing.kind !== "pictures") throw new UsageError(`model ${this.model.path}: it does not take pictures`);
    const paths = files!.map((file) => resolve(dataset.root, file));
    return givenPictures(paths, { ...preprocessing, upright: dataset.upright }) as Pick<SampleSource, "find" | "make">;
  }
}

/** Arrays must have the model's shape; pictures come to it. */
function checkShape({ about: { preprocessing }, path }: Model, dataset: Dataset): void {
  const { inputShape } = preprocessing;
  if (dataset.kind === "arrays" && `${dataset.inputShape}` !== `${inputShape}`)
    throw new UsageError(
      `model ${path}: expected samples [${inputShape.join(", ")}], and those of dataset ${dataset.id} are [${dataset.inputShape.join(", ")}]`,
    );
  if (dataset.kind === "pictures" && preprocessing.kind !== "pictures")
    throw new UsageError(`model ${path}: it takes arrays of [${inputShape.join(", ")}], not pictures`);
}
