/** Inspects a dataset: counts, sizes, formats, damaged files, duplicates. */
import { resolve } from "node:path";
import { imbalanceNotes, loneClassNotes, smallClassNotes } from "./class-notes.js";
import { classCounts, type Dataset, type PictureDataset } from "./dataset.js";
import { type Duplicates, findDuplicates } from "./inspect-duplicates.js";
import { type FileFacts, lookAtFiles, type Problem } from "./inspect-files.js";
import type { NearDuplicates } from "./near-duplicates.js";
import { isSplitByClass } from "./own-split.js";
import { countOf, showName } from "./show-name.js";

/** The minimum, median and maximum of some numbers. */
export interface Spread {
  readonly least: number;
  readonly median: number;
  readonly most: number;
}

/** The picture files of one domain. */
export interface PictureSummary {
  readonly bytes: number;
  /** The number of files of each format, the most frequent first. */
  readonly formats: Readonly<Record<string, number>>;
  readonly width: Spread | null;
  readonly height: Spread | null;
  /** The number of files that are not plain 8-bit color: gray, CMYK, transparent, 16-bit. */
  readonly grey: number;
  readonly cmyk: number;
  readonly alpha: number;
  readonly deep: number;
  /**
   * The number of pictures whose EXIF data asks for a rotation. It is applied if the dataset is `upright`. (The
   * rotation of a TIFF is always applied, as in PIL.)
   */
  readonly turned: number;
}

/** A file with a problem. */
export interface FileProblem {
  readonly kind: Problem["kind"] | "broken" | "damaged";
  readonly file: string;
  readonly what: string;
}

export interface Inspection {
  readonly id: string;
  readonly title: string;
  readonly root: string | null;
  readonly kind: Dataset["kind"];
  readonly hasDomains: boolean;
  readonly inputShape: readonly number[];
  readonly domains: readonly string[];
  readonly classes: readonly string[];
  /** The number of samples of each domain and class. */
  readonly counts: readonly (readonly number[])[];
  readonly total: number;
  /** For picture files, by domain. */
  readonly pictures: readonly PictureSummary[] | null;
  readonly problems: readonly FileProblem[];
  readonly duplicates: Duplicates | null;
  /** Groups of near-duplicates among own pictures, without exact copies; null for other datasets. */
  readonly nearDuplicates: NearDuplicates | null;
  /** The number of decoded pictures, if decoding was requested. */
  readonly decoded: number | null;
  readonly notes: readonly string[];
  /** Authors and licences, if the dataset states them. */
  readonly credits: readonly string[];
}

export interface InspectOptions {
  /** Decode every picture. */
  deep?: boolean;
  progress?: (what: string, done: number, total: number) => void;
}

/**
 * The batch size per domain in the reference protocol. A domain with fewer training pictures repeats some in every
 * step.
 */
const usualBatch = 32;

function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  return { least: sorted[0], median: sorted[Math.floor((sorted.length - 1) / 2)], most: sorted[sorted.length - 1] };
}

function summarise(facts: readonly FileFacts[]): PictureSummary {
  const headers = facts.flatMap(({ header }) => (header ? [header] : []));
  const formats = new Map<string, number>();
  for (const { format } of headers) formats.set(format, (formats.get(format) ?? 0) + 1);
  const count = (is: (header: (typeof headers)[number]) => boolean): number => headers.filter(is).length;
  return {
    bytes: facts.reduce((sum, { bytes }) => sum + bytes, 0),
    formats: Object.fromEntries([...formats].sort(([, a], [, b]) => b - a)),
    width: spread(headers.map(({ width }) => width)),
    height: spread(headers.map(({ height }) => height)),
    grey: count(({ colours }) => colours === "grey"),
    cmyk: count(({ colours }) => colours === "CMYK"),
    alpha: count(({ alpha }) => alpha),
    deep: count(({ bits }) => bits > 8),
    turned: count(({ format, orientation }) => orientation !== 1 && format !== "TIFF"),
  };
}

/** Notes on the dataset as a whole. */
function remarks(dataset: Dataset, summaries: readonly PictureSummary[] | null): string[] {
  const notes = [...dataset.notes, ...loneClassNotes(dataset), ...smallClassNotes(dataset), ...imbalanceNotes(dataset)];
  for (const { name, count } of dataset.domains)
    if (count * 0.8 < usualBatch)
      notes.push(
        `domain "${showName(name)}" has ${countOf(count, "sample")}, of which 80 % are used for training: fewer than the default batch of ${usualBatch}, so every batch repeats some`,
      );
  const sum = (key: "turned" | "cmyk" | "alpha"): number =>
    summaries?.reduce((total, each) => total + each[key], 0) ?? 0;
  if (sum("turned") > 0)
    notes.push(
      `EXIF data requests a rotation of ${countOf(sum("turned"), "picture")}; ${dataset.upright ? "they are rotated when they are read" : "the stored pixels of a benchmark are used without rotation, as in other loaders"}`,
    );
  if (sum("cmyk") > 0) notes.push(`${countOf(sum("cmyk"), "picture")} in CMYK, converted to RGB when read`);
  if (sum("alpha") > 0)
    notes.push(`${countOf(sum("alpha"), "picture")} with transparency, which is ignored: the stored colours are used`);
  return notes;
}

async function nearDuplicates(
  dataset: PictureDataset,
  duplicates: Duplicates,
  progress: (done: number, total: number) => void,
): Promise<NearDuplicates> {
  const { nearDuplicatesOf, withoutCopies } = await import("./near-duplicates.js"); // it needs a decoder
  return withoutCopies(await nearDuplicatesOf(dataset, { progress }), duplicates);
}

async function inspectPictures(dataset: PictureDataset, { deep, progress }: InspectOptions) {
  const total = dataset.domains.reduce((sum, { count }) => sum + count, 0);
  const facts = await lookAtFiles(dataset, (done) => progress?.("checking files", done, total));
  const problems: FileProblem[] = facts.flatMap(({ file, problem }) => (problem ? [{ file, ...problem }] : []));
  let decoded: number | null = null;
  if (deep) {
    const { decodeFiles } = await import("./inspect-decode.js"); // it needs a decoder
    const usable = facts.filter(({ header }) => header !== undefined);
    const bad = await decodeFiles(
      usable.map(({ file }) => resolve(dataset.root, file)),
      (done) => progress?.("decoding", done, usable.length),
    );
    decoded = usable.length;
    for (const { index, kind, what } of bad) {
      const { file, problem } = usable[index];
      if (problem?.kind !== "truncated") problems.push({ kind, file, what });
    }
  }
  const duplicates = await findDuplicates(dataset.root, facts);
  return {
    pictures: dataset.domains.map((_, d) => summarise(facts.filter(({ domain }) => domain === d))),
    problems,
    duplicates,
    nearDuplicates: isSplitByClass(dataset)
      ? await nearDuplicates(dataset, duplicates, (done, missing) => progress?.("comparing pictures", done, missing))
      : null,
    decoded,
  };
}

/** Inspects a dataset. */
export async function inspectDataset(dataset: Dataset, options: InspectOptions = {}): Promise<Inspection> {
  const counts = dataset.domains.map((domain) => classCounts(domain, dataset.classes.length));
  const files =
    dataset.kind === "pictures"
      ? await inspectPictures(dataset, options)
      : { pictures: null, problems: [], duplicates: null, nearDuplicates: null, decoded: null };
  return {
    id: dataset.id,
    title: dataset.title,
    root: dataset.root,
    kind: dataset.kind,
    hasDomains: dataset.hasDomains,
    inputShape: dataset.inputShape,
    domains: dataset.domains.map(({ name }) => name),
    classes: dataset.classes,
    counts,
    total: dataset.domains.reduce((sum, { count }) => sum + count, 0),
    ...files,
    notes: remarks(dataset, files.pictures),
    credits: dataset.credits ?? [],
  };
}
