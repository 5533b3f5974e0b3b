/**
 * A dataset: domains of labelled samples, in a fixed order. A sample is a picture file or an array that is created on
 * demand. Splits, samplers, loaders and reports use this form for all sources of samples.
 *
 * The order is that of the reference testbed: domain folders, class folders and paths, sorted by code point. Splits
 * refer to it, so the same files give the same split on every machine.
 */
import { unknownName } from "../closest-name.js";
import { declare } from "../definitions.js";
import { UsageError } from "../errors.js";
import { type Given, type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";
import { checkDataset } from "./check-dataset.js";
import type { Split, SplitOptions } from "./split.js";

interface LabelledDomain {
  readonly name: string;
  /** The number of samples. */
  readonly count: number;
  /** The class of each sample, as an index into the dataset's `classes`. */
  readonly labels: Int32Array;
}

/** A domain whose samples are picture files. */
export interface PictureDomain extends LabelledDomain {
  /**
   * Paths with forward slashes, relative to the root of the dataset (a manifest may have absolute ones: use
   * `path.resolve`).
   */
  readonly files: readonly string[];
  readonly read?: undefined;
}

/** A domain whose samples are arrays. */
export interface ArrayDomain extends LabelledDomain {
  readonly files?: undefined;
  /**
   * Returns sample i. Bytes are a decoded picture (rows from the top, then pixels, then channels; 255 means 1); floats
   * are in the order of `inputShape`.
   */
  read(i: number): Uint8Array | Float32Array;
}

export type Domain = PictureDomain | ArrayDomain;

/** How the samples of a benchmark are split if they, or its domains, belong together. */
export interface GroupedSplit {
  /** Groups of domains, such as those of one author. If one of a group is held out, the others are not trained on. */
  readonly related: readonly (readonly string[])[];
  split(domains: readonly Domain[], options: Required<Omit<SplitOptions, "uda">>): Split;
}

interface CommonDataset {
  /** The id of its definition: `pacs`, `image-folder`, … */
  readonly id: string;
  readonly title: string;
  readonly classes: readonly string[];
  /** False if the samples have no domains. There is then one domain, named `all`. */
  readonly hasDomains: boolean;
  /** Channels, height and width, or the length of a vector. [3, 224, 224] for picture files of any size. */
  readonly inputShape: readonly number[];
  /**
   * Whether crops, flips, color jitter and ImageNet's normalization apply, as they do for pictures with three channels.
   */
  readonly augmentable: boolean;
  /** All options. Together with the files they determine every sample. */
  readonly options: OptionValues;
  /** Notes for the user: skipped files, classes that differ between domains, … */
  readonly notes: readonly string[];
  /** The split that comes with the samples (the `split` column of a manifest). */
  readonly givenSplit?: Split;
  /** The split of a benchmark whose samples or domains belong together. All others are split domain by domain. */
  readonly grouped?: GroupedSplit;
  /** The domains of the whole dataset, if some of them are not used because a related one is held out. */
  readonly allDomains?: readonly string[];
  /** Authors and licences, one text for each part of the dataset. */
  readonly credits?: readonly string[];
}

export interface PictureDataset extends CommonDataset {
  readonly kind: "pictures";
  /** The folder that the paths are relative to. */
  readonly root: string;
  readonly domains: readonly PictureDomain[];
  /**
   * Whether pictures are rotated according to their EXIF data. This is true for your own pictures, and false for
   * benchmarks, as in the loaders of the field.
   */
  readonly upright?: true;
  /** Groups of near-duplicates, as paths, that stay on one side of a split. Absent if the split ignores them. */
  readonly nearDuplicates?: readonly (readonly string[])[];
}

export interface ArrayDataset extends CommonDataset {
  readonly kind: "arrays";
  /** The folder of the samples; null if they are generated. */
  readonly root: string | null;
  readonly domains: readonly ArrayDomain[];
  readonly upright?: undefined;
  readonly nearDuplicates?: undefined;
}

export type Dataset = PictureDataset | ArrayDataset;

export type OptionValue = string | number | boolean;
export type OptionValues = Readonly<Record<string, OptionValue>>;

/** The options that datasets declare. */
export type DatasetOptions = Readonly<Record<string, OptionWithDefault<OptionValue>>>;

/** One domain of a published dataset. */
export interface PublishedDomain {
  readonly name: string;
  /** The heading in tables: `A`, `L100`, `+90%`. */
  readonly label: string;
  /** Other names of its folder, in addition to differences in case, spaces and underscores. */
  readonly aliases?: readonly string[];
  /** The published number of samples, if any. */
  readonly count?: number;
  /** The same by class, in the order of the classes, if it is known. */
  readonly perClass?: readonly number[];
}

/** Published facts of a dataset, for checking a copy. */
export interface Published {
  readonly domains: readonly PublishedDomain[];
  /** The classes, or their number. */
  readonly classes: readonly string[] | number;
  /** The number of samples, if a source states it. */
  readonly total?: number;
  /** The number of samples that the published list of duplicates removes. */
  readonly duplicates?: number;
  /** Counts of other valid versions: a description, and the count of each domain. */
  readonly alsoSeen?: readonly { readonly what: string; readonly counts: readonly number[] }[];
}

/** The definition of a dataset without its samples. */
export interface DatasetDefinition {
  readonly id: string;
  /** The title as spelled in the paper. */
  readonly title: string;
  readonly summary: string;
  /** The paper to cite. */
  readonly paper: string;
  readonly licence: string;
  /** Where to get it, as text. */
  readonly source: string;
  /** The required folder structure. */
  readonly layout: string;
  /** Whether it is read from files, so that a folder is required. */
  readonly needsRoot: boolean;
  readonly options: DatasetOptions;
  readonly published?: Published;
  /** The number of training steps in the reference protocol, and the evaluation interval. */
  readonly protocol: { readonly steps: number; readonly evaluateEvery: number };
  /** What the two splits of a held-out domain are, if they differ. Both are reported; `in` is in the first table. */
  readonly tested?: { readonly in: string; readonly out: string };
  /** Differences from the published pictures that no count shows. It decodes every picture. */
  comparePixels?(dataset: Dataset): Promise<string[]>;
  /** Options may be strings, as typed on the command line. */
  open(given: { root: string | null; options: Given }): Promise<Dataset>;
}

/** Declares a dataset. `open` receives all options, validated and with the types of their defaults. */
export function defineDataset<const Options extends DatasetOptions, Needs extends boolean>(
  definition: Omit<DatasetDefinition, "needsRoot" | "options" | "open"> & {
    readonly needsRoot: Needs;
    readonly options: Options;
    open(given: {
      root: Needs extends true ? string : string | null;
      options: ValuesOf<Options>;
    }): Promise<Dataset> | Dataset;
  },
): DatasetDefinition {
  return declare("dataset", {
    ...definition,
    async open({ root, options }) {
      if (definition.needsRoot && root === null)
        throw new UsageError(
          `dataset ${definition.id}: expected the folder that contains it (${definition.layout}), got none; use --root`,
        );
      const opened: unknown = await definition.open({
        root: root as Needs extends true ? string : string | null, // validated above
        options: readOptions(`dataset ${definition.id}`, definition.options, options, { prefix: "data." }),
      });
      checkDataset(definition.id, opened);
      return opened;
    },
  });
}

/** The domain with this name. For an unknown name, the error suggests the closest one. */
export function domainNamed(dataset: Dataset, name: string): Domain {
  const found = findDomain(dataset, name);
  if (found) return found;
  const names = dataset.domains.map((domain) => domain.name);
  throw new UsageError(`dataset ${dataset.id}: ${numberedDomain(names, name) ?? unknownName("domain", name, names)}`);
}

/** The error for a domain that was given by its number, as for DomainBed; undefined if there is no such number. */
export function numberedDomain(names: readonly string[], name: string): string | undefined {
  const found = /^\d+$/.test(name) ? names[Number(name)] : undefined;
  if (found === undefined) return undefined;
  const place = Number(name) === 0 ? "the first" : `number ${Number(name) + 1}`;
  return `unknown domain "${name}". Domain ${name} in DomainBed's numbering is "${found}", ${place} of ${names.length}: use its name`;
}

/** Splits a comma-separated list of domain names. A name may contain commas ("Berlin, Mitte"). */
export function domainsNamed(dataset: Dataset, pieces: readonly string[]): Domain[] {
  const each = pieces.flatMap((piece) => findDomain(dataset, piece) ?? []);
  if (each.length === pieces.length) return each; // before the case of a domain called "a,b" in addition to a and b
  const found: Domain[] = [];
  for (let from = 0; from < pieces.length; ) {
    let to = pieces.length;
    const together = (): Domain | undefined =>
      [", ", ","].map((comma) => findDomain(dataset, pieces.slice(from, to).join(comma))).find(Boolean);
    while (to > from + 1 && !together()) to--;
    found.push(together() ?? domainNamed(dataset, pieces[from]));
    from = to;
  }
  return found;
}

/** By its name; otherwise by its Unicode normal form, because macOS stores the ü of a folder name as two characters. */
function findDomain({ domains }: Dataset, name: string): Domain | undefined {
  const all: readonly Domain[] = domains;
  const exact = all.find((domain) => domain.name === name);
  if (exact) return exact;
  const read = all.filter((domain) => domain.name.normalize() === name.normalize());
  return read.length === 1 ? read[0] : undefined;
}

/** The dataset of a run that holds domains out: without the other domains that are related to them. */
export function withoutRelated<T extends Dataset>(dataset: T, testDomains: readonly string[]): T {
  const groups = dataset.grouped?.related.filter((group) => group.some((name) => testDomains.includes(name))) ?? [];
  const left = groups.flat().filter((name) => !testDomains.includes(name));
  if (left.length === 0) return dataset;
  const allDomains = dataset.domains.map(({ name }) => name);
  return { ...dataset, allDomains, domains: dataset.domains.filter(({ name }) => !left.includes(name)) };
}

/** The number of samples of each class in a domain. */
export function classCounts(domain: Domain, classes: number): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (const label of domain.labels) counts[label]++;
  return counts;
}
