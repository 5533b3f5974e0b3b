/**
 * The split of your own pictures. The same fraction of every class of a domain is used for validation, so that small
 * classes are in training and in validation. Pictures that exist more than once are never used for validation, so that
 * no copy of a validation picture is used for training. A group of near-duplicates (near-duplicates.ts) is used either
 * for training or for validation. The choice depends on the file names: if pictures or domains are added later, the
 * others mostly stay in their split, so that models trained before and after can be compared. Benchmarks use the split
 * of the reference (split.ts) instead.
 */

import { resolve } from "node:path";
import { textHash } from "../files/canonical-json.js";
import { groupBy } from "../group-by.js";
import { byCodePoint } from "./code-point-order.js";
import type { Dataset, PictureDataset, PictureDomain } from "./dataset.js";
import { lookAt } from "./inspect-files.js";
import { isOwnDataset } from "./own-dataset.js";
import { type DomainSplit, type Split, type SplitOptions, splitDataset } from "./split.js";

type Options = Required<Pick<SplitOptions, "trialSeed" | "testDomains" | "holdout">>;

/** Whether a dataset is split by class: own pictures that come without a split. */
export const isSplitByClass = (dataset: Dataset): dataset is PictureDataset =>
  dataset.givenSplit === undefined && dataset.kind === "pictures" && isOwnDataset(dataset.id);

/** The split of a dataset: its own, that of a benchmark whose samples belong together, the split by class for your own pictures, or that of the reference. */
export function splitOf(dataset: Dataset, options: Options): Split {
  if (dataset.givenSplit) return dataset.givenSplit;
  if (dataset.grouped) return dataset.grouped.split(dataset.domains, options);
  if (isSplitByClass(dataset)) return splitByClass(dataset, options);
  return splitDataset(dataset.domains, options);
}

/** The split by class. */
export function splitByClass(dataset: PictureDataset, { trialSeed, testDomains, holdout }: Options): Split {
  splitDataset(dataset.domains, { trialSeed, testDomains, holdout }); // for its checks
  const copies = copiesIn(dataset);
  const groups = groupByFile(dataset);
  return new Map(
    dataset.domains.map((domain) => [
      domain.name,
      splitOneDomain(domain, {
        seed: trialSeed,
        holdout,
        isCopy: (place) => copies.has(domain.files[place]),
        groupOf: (place) => groups.get(domain.files[place]),
      }),
    ]),
  );
}

/** The number of the group of near-duplicates that each picture is in, by path. Pictures without one are absent. */
export const groupByFile = ({ nearDuplicates = [] }: Dataset): ReadonlyMap<string, number> =>
  new Map(nearDuplicates.flatMap((group, i) => group.map((file) => [file, i] as const)));

interface Choice {
  readonly isCopy: (place: number) => boolean;
  /** The group of near-duplicates that a picture is in, if any. */
  readonly groupOf: (place: number) => number | undefined;
}

function splitOneDomain(
  { name, labels, files, count }: PictureDomain,
  { seed, holdout, ...choice }: { seed: number; holdout: number } & Choice,
): DomainSplit {
  const keys = files.map((file) => textHash(`${seed}\n${name}\n${file}`));
  const order = [...keys.keys()].sort((a, b) => byCodePoint(keys[a], keys[b]) || a - b);
  const classes = groupBy(order, (place) => labels[place]);
  const groups = [...classes].sort(([a], [b]) => a - b).map(([, places]) => places);
  // Distributes the number of validation pictures over classes by largest remainders. Every class keeps one picture for
  // training.
  const exact = groups.map((places) => holdout * places.length);
  const shares = exact.map(Math.floor);
  const byRemainder = exact
    .map((value, i) => ({ i, rest: value - shares[i] }))
    .sort((a, b) => b.rest - a.rest || a.i - b.i);
  let left = Math.trunc(count * holdout) - shares.reduce((sum, share) => sum + share, 0);
  for (const { i } of byRemainder) {
    if (left <= 0) break;
    if (shares[i] + 1 >= groups[i].length) continue;
    shares[i]++;
    left--;
  }
  const out = new Set(groups.flatMap((places, i) => chosen(places, Math.min(shares[i], places.length - 1), choice)));
  return { in: order.filter((place) => !out.has(place)), out: order.filter((place) => out.has(place)), uda: [] };
}

/**
 * The first pictures of a class, at most `most`. Near-duplicates are chosen together if they all fit. If nothing fits,
 * the smallest group is chosen, provided that it is at most half of the class. A class of a few pictures that all look
 * alike is divided all the same, because a class without validation pictures could not be assessed at all.
 */
function chosen(places: readonly number[], most: number, { isCopy, groupOf }: Choice): number[] {
  const units = groupBy(places, (place) => groupOf(place) ?? `alone ${place}`);
  const usable = [...units.values()].filter((unit) => !unit.some(isCopy));
  const out: number[] = [];
  for (const unit of usable) if (out.length + unit.length <= most) out.push(...unit);
  if (out.length > 0 || most < 1) return out;
  const [smallest = []] = usable.toSorted((a, b) => a.length - b.length);
  if (smallest.length > 0 && 2 * smallest.length <= places.length) return smallest;
  return usable.flat().slice(0, most);
}

const known = new WeakMap<object, ReadonlySet<string>>();

/** The files that equal another one, by size and by first and last bytes. */
function copiesIn({ root, domains }: PictureDataset): ReadonlySet<string> {
  const before = known.get(domains);
  if (before) return before;
  const files = domains.flatMap((domain) => domain.files);
  const prints = files.map((file) => {
    const { fingerprint, bytes } = lookAt(resolve(root, file), { domain: 0, label: 0, file });
    return bytes > 0 ? fingerprint : null; // empty files are not copies of each other
  });
  const places = groupBy(prints.keys(), (i) => prints[i] ?? `empty ${i}`);
  const copies = new Set(
    [...places.values()].filter(({ length }) => length > 1).flatMap((same) => same.map((i) => files[i])),
  );
  known.set(domains, copies);
  return copies;
}
