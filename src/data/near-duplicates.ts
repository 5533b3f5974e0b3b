/**
 * Near-duplicates: pictures of one class and domain that are resized, compressed or slightly cropped copies of each
 * other, or consecutive frames of one shot. A model that is trained on one of them has nearly seen the others, so they
 * stay on one side of a split (own-split.ts).
 */

import type { PictureDataset } from "./dataset.js";
import type { Duplicates } from "./inspect-duplicates.js";
import { coarseOf, unitVectors } from "./picture-signature.js";
import { type PictureSignature, type SignatureOptions, signaturesOf } from "./picture-signatures.js";

/**
 * Pictures are near-duplicates from this correlation on. These are 274 of Office-31's 4,110 pictures: nearly all show
 * the same product, often in another color. In PACS these are 41 of 9,991. Copies that lost up to 8 % of their width and
 * height, evenly on all sides, are found in at least 97 % of the cases; copies that lost 5 % on one side only, mostly not.
 */
const ALIKE = 0.98;
/** The largest group: this many pictures, or this fraction of the class, so that no group contains a whole class. */
const LARGEST = 8;
const LARGEST_FRACTION = 0.1;

/** Groups of near-duplicates, each as paths, in the order of the dataset. */
export type NearDuplicates = NonNullable<PictureDataset["nearDuplicates"]>;

const known = new WeakMap<object, Promise<NearDuplicates>>();

/** Finds the groups of near-duplicates of a dataset: once, as long as its list of pictures exists. */
export function nearDuplicatesOf(dataset: PictureDataset, options: SignatureOptions = {}): Promise<NearDuplicates> {
  const before = known.get(dataset.domains);
  if (before) return before;
  const found = findNearDuplicates(dataset, options);
  known.set(dataset.domains, found);
  found.catch(() => known.delete(dataset.domains));
  return found;
}

async function findNearDuplicates(dataset: PictureDataset, options: SignatureOptions): Promise<NearDuplicates> {
  const classes = dataset.domains.flatMap(({ files, labels }) => {
    const byClass: string[][] = dataset.classes.map(() => []);
    for (const [i, file] of files.entries()) byClass[labels[i]].push(file);
    return byClass.filter(({ length }) => length > 1);
  });
  const signatures = await signaturesOf(dataset, [...new Set(classes.flat())], options);
  return classes.flatMap((files) => groupsIn(files, signatures));
}

/** Groups of near-duplicates without exact copies, which are reported separately: one picture of each remains. */
export function withoutCopies(groups: NearDuplicates, { withinClass }: Duplicates): NearDuplicates {
  const copies = new Set(withinClass.flatMap(([, ...others]) => others.map(({ file }) => file)));
  return groups.map((group) => group.filter((file) => !copies.has(file))).filter(({ length }) => length > 1);
}

/** Joins the pictures of one class and domain, the most similar ones first. */
function groupsIn(files: readonly string[], signatures: ReadonlyMap<string, PictureSignature>): string[][] {
  const largest = Math.max(LARGEST, Math.floor(LARGEST_FRACTION * files.length));
  const groups = new Map(files.map((file) => [file, [file]]));
  for (const { a, b } of alikePairs(files, signatures)) {
    const [to, from] = [groups.get(a)!, groups.get(b)!];
    if (to === from || to.length + from.length > largest) continue;
    to.push(...from);
    for (const file of from) groups.set(file, to);
  }
  const places = new Map(files.map((file, i) => [file, i]));
  return [...new Set(groups.values())]
    .filter(({ length }) => length > 1)
    .map((group) => group.sort((a, b) => places.get(a)! - places.get(b)!));
}

/** The signature of a picture for comparisons: the whole picture and its middle, each with a coarse version. */
export interface Vectors {
  readonly whole: Vector;
  readonly middle: Vector;
}

interface Vector {
  readonly fine: Float64Array;
  readonly coarse: Float64Array;
}

/** The vectors of a signature; null if the picture is nearly uniform. */
export function vectorsOf(cells: Uint16Array): Vectors | null {
  const vectors = unitVectors(cells);
  const withCoarse = (fine: Float64Array): Vector => ({ fine, coarse: coarseOf(fine) });
  return vectors && { whole: withCoarse(vectors.whole), middle: withCoarse(vectors.middle) };
}

/** The correlation of two pictures, or of one with the middle of the other; null if they are not near-duplicates. */
export function alike(a: Vectors, b: Vectors): number | null {
  const correlation = Math.max(
    correlationOf(a.whole, b.whole),
    correlationOf(a.middle, b.whole),
    correlationOf(a.whole, b.middle),
  );
  return correlation >= ALIKE ? correlation : null;
}

/** The pairs of near-duplicates, by decreasing correlation. */
function alikePairs(
  files: readonly string[],
  signatures: ReadonlyMap<string, PictureSignature>,
): { a: string; b: string; correlation: number }[] {
  const all = files.flatMap((file) => {
    const signature = signatures.get(file);
    const vectors = signature && vectorsOf(signature.cells);
    return vectors ? [{ file, vectors }] : [];
  });
  const pairs: { a: string; b: string; correlation: number }[] = [];
  for (let i = 0; i < all.length; i++)
    for (let j = i + 1; j < all.length; j++) {
      const correlation = alike(all[i].vectors, all[j].vectors);
      if (correlation !== null) pairs.push({ a: all[i].file, b: all[j].file, correlation });
    }
  return pairs.sort((x, y) => y.correlation - x.correlation); // a stable sort: the order of equal ones is that of the files
}

/** The correlation; 0 if the coarse versions already show that it is below the limit. */
function correlationOf(a: Vector, b: Vector): number {
  let distance = 0;
  for (let i = 0; i < a.coarse.length; i++) distance += (a.coarse[i] - b.coarse[i]) ** 2;
  if (distance > 2 - 2 * ALIKE + 1e-9) return 0; // the squared distance of two unit vectors is 2 − 2 × correlation
  let sum = 0;
  for (let i = 0; i < a.fine.length; i++) sum += a.fine[i] * b.fine[i];
  return sum;
}
