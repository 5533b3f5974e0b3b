/**
 * A dataset: domains of labelled samples, in a fixed order. A sample is a picture file or an array that is made when asked
 * for. Splits, samplers, loaders and reports all read this one form, wherever the samples come from.
 *
 * The order is the reference testbed's: sorted domain folders, sorted class folders, sorted paths, by code point. Splits
 * count along it, so the same files give the same split on every machine.
 */
import { unknownName } from "../closest-name.js";
import { declare } from "../definitions.js";
import { UsageError } from "../errors.js";
import { type Given, type OptionWithDefault, readOptions, type ValuesOf } from "../options.js";
import { checkDataset } from "./check-dataset.js";
import type { Split } from "./split.js";

interface LabelledDomain {
  readonly name: string;
  /** How many samples it has. */
  readonly count: number;
  /** The class of each sample, as its place in the dataset's `classes`. */
  readonly labels: Int32Array;
}

/** A domain whose samples are picture files. */
export interface PictureDomain extends LabelledDomain {
  /** Paths with forward slashes, relative to the dataset's root (a manifest may give absolute ones: use `path.resolve`). */
  readonly files: readonly string[];
  readonly read?: undefined;
}

/** A domain whose samples are arrays. */
export interface ArrayDomain extends LabelledDomain {
  readonly files?: undefined;
  /**
   * Sample i. Bytes are a picture as a decoder gives it (rows from the top, then pixels, then channels; 255 stands for 1);
   * floats are in the order of `inputShape`.
   */
  read(i: number): Uint8Array | Float32Array;
}

export type Domain = PictureDomain | ArrayDomain;

interface CommonDataset {
  /** The id of its definition: `pacs`, `image-folder`, … */
  readonly id: string;
  readonly title: string;
  readonly classes: readonly string[];
  /** False where the samples came without domains; then there is one, named `all`. */
  readonly hasDomains: boolean;
  /** Channels, height, width; or the length of a vector. [3, 224, 224] for picture files, whatever their own size. */
  readonly inputShape: readonly number[];
  /** Whether crops, flips, colour jitter and ImageNet's normalisation make sense: for pictures of three channels. */
  readonly augmentable: boolean;
  /** The options in full. Together with the files they determine every sample. */
  readonly options: OptionValues;
  /** Notes for the user: skipped files, classes that differ between domains, … */
  readonly notes: readonly string[];
  /** The split that came with the samples (a manifest's `split` column). */
  readonly givenSplit?: Split;
}

export interface PictureDataset extends CommonDataset {
  readonly kind: "pictures";
  /** The folder that the files' paths start from. */
  readonly root: string;
  readonly domains: readonly PictureDomain[];
  /** Pictures are turned as their EXIF data asks: one's own are. Benchmarks' are not, as in the field's loaders. */
  readonly upright?: true;
}

export interface ArrayDataset extends CommonDataset {
  readonly kind: "arrays";
  /** The folder the samples come from; null where they are generated. */
  readonly root: string | null;
  readonly domains: readonly ArrayDomain[];
  readonly upright?: undefined;
}

export type Dataset = PictureDataset | ArrayDataset;

export type OptionValue = string | number | boolean;
export type OptionValues = Readonly<Record<string, OptionValue>>;

/** The options that datasets declare. */
export type DatasetOptions = Readonly<Record<string, OptionWithDefault<OptionValue>>>;

/** One domain of a published dataset. */
export interface PublishedDomain {
  readonly name: string;
  /** Its heading in tables: `A`, `L100`, `+90%`. */
  readonly label: string;
  /** Other names its folder goes by, beyond case, spaces and underscores. */
  readonly aliases?: readonly string[];
  /** How many samples it has, where that is published. */
  readonly count?: number;
  /** The same by class, in the order of the classes, where that is known. */
  readonly perClass?: readonly number[];
}

/** What has been published of a dataset, to check a copy against. */
export interface Published {
  readonly domains: readonly PublishedDomain[];
  /** The classes, or how many there are. */
  readonly classes: readonly string[] | number;
  /** How many samples there are, where a source states it. */
  readonly total?: number;
  /** How many the published list of duplicates removes from the total. */
  readonly duplicates?: number;
  /** Other counts in circulation that are no fault of a copy: what they are, and the count of each domain. */
  readonly alsoSeen?: readonly { readonly what: string; readonly counts: readonly number[] }[];
}

/** All there is to know of a dataset, but its samples. */
export interface DatasetDefinition {
  readonly id: string;
  /** The paper's spelling. */
  readonly title: string;
  readonly summary: string;
  /** The paper to cite. */
  readonly paper: string;
  readonly licence: string;
  /** Where it can be had, in words. */
  readonly source: string;
  /** How its files must lie. */
  readonly layout: string;
  /** Whether it is made from files, so that a folder must be given. */
  readonly needsRoot: boolean;
  readonly options: DatasetOptions;
  readonly published?: Published;
  /** The reference protocol's training length for it, and how often it evaluates. */
  readonly protocol: { readonly steps: number; readonly evaluateEvery: number };
  /** Options may be texts, as they are typed. */
  open(given: { root: string | null; options: Given }): Promise<Dataset>;
}

/** Declares a dataset; `open` gets the options checked and in full, with the types of their defaults. */
export function defineDataset<const Options extends DatasetOptions, Needs extends boolean>(definition: {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly paper: string;
  readonly licence: string;
  readonly source: string;
  readonly layout: string;
  readonly needsRoot: Needs;
  readonly options: Options;
  readonly published?: Published;
  readonly protocol: DatasetDefinition["protocol"];
  open(given: {
    root: Needs extends true ? string : string | null;
    options: ValuesOf<Options>;
  }): Promise<Dataset> | Dataset;
}): DatasetDefinition {
  return declare("dataset", {
    ...definition,
    async open({ root, options }) {
      if (definition.needsRoot && root === null)
        throw new UsageError(
          `dataset ${definition.id}: expected the folder that contains it (${definition.layout}), got none; use --root`,
        );
      const opened: unknown = await definition.open({
        root: root as Needs extends true ? string : string | null, // checked above
        options: readOptions(`dataset ${definition.id}`, definition.options, options, { prefix: "data." }),
      });
      checkDataset(definition.id, opened);
      return opened;
    },
  });
}

/** The domain of this name; an unknown one is an error that names the nearest. */
export function domainNamed(dataset: Dataset, name: string): Domain {
  const found = findDomain(dataset, name);
  if (found) return found;
  const names = dataset.domains.map((domain) => domain.name);
  throw new UsageError(`dataset ${dataset.id}: ${unknownName("domain", name, names)}`);
}

/** The domains of a list that had commas between its names; a name may have some itself ("Berlin, Mitte"). */
export function domainsNamed(dataset: Dataset, pieces: readonly string[]): Domain[] {
  const each = pieces.flatMap((piece) => findDomain(dataset, piece) ?? []);
  if (each.length === pieces.length) return each; // before a domain that is called "a,b" beside a and b
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

/** By its name; else by how it reads, since a Mac stores the ü of a folder's name as two characters and a keyboard gives one. */
function findDomain({ domains }: Dataset, name: string): Domain | undefined {
  const all: readonly Domain[] = domains;
  const read = all.filter((domain) => domain.name.normalize() === name.normalize());
  return all.find((domain) => domain.name === name) ?? (read.length === 1 ? read[0] : undefined);
}

/** How many samples of each class a domain has. */
export function classCounts(domain: Domain, classes: number): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (const label of domain.labels) counts[label]++;
  return counts;
}
