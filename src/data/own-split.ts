/**
 * The split of one's own pictures: of every class of a domain the same share is held back, so that a class of few pictures is
 * neither missing in training nor in validation, and pictures that are there more than once are never held back, so that no copy of
 * a validation picture is trained on. Which ones are held back goes by their names: pictures and domains that are added later leave
 * the others nearly where they were, so that a model trained before can be compared with one trained after. Benchmarks keep the reference's
 * split (split.ts), which knows nothing of this.
 */

import { resolve } from "node:path";
import { textHash } from "../files/canonical-json.js";
import { byCodePoint } from "./code-point-order.js";
import type { Dataset, PictureDataset, PictureDomain } from "./dataset.js";
import { lookAt } from "./inspect-files.js";
import { isOwnDataset } from "./own-dataset.js";
import { type DomainSplit, type Split, type SplitOptions, splitDataset } from "./split.js";

type Options = Required<Pick<SplitOptions, "trialSeed" | "testDomains" | "holdout">>;

/** A dataset's split: the one it came with, or its own pictures' by class, or the reference's. */
export function splitOf(dataset: Dataset, options: Options): Split {
  if (dataset.givenSplit) return dataset.givenSplit;
  if (dataset.kind === "pictures" && isOwnDataset(dataset.id)) return splitByClass(dataset, options);
  return splitDataset(dataset.domains, options);
}

/** The split by class. */
export function splitByClass(dataset: PictureDataset, { trialSeed, testDomains, holdout }: Options): Split {
  splitDataset(dataset.domains, { trialSeed, testDomains, holdout }); // for its checks
  const copies = copiesIn(dataset);
  return new Map(
    dataset.domains.map((domain) => [
      domain.name,
      splitOneDomain(domain, {
        seed: trialSeed,
        holdout,
        isCopy: (place) => copies.has(domain.files[place]),
      }),
    ]),
  );
}

function splitOneDomain(
  { name, labels, files, count }: PictureDomain,
  { seed, holdout, isCopy }: { seed: number; holdout: number; isCopy: (place: number) => boolean },
): DomainSplit {
  const keys = files.map((file) => textHash(`${seed}\n${name}\n${file}`));
  const order = [...keys.keys()].sort((a, b) => byCodePoint(keys[a], keys[b]) || a - b);
  const classes = new Map<number, number[]>();
  for (const place of order) classes.set(labels[place], [...(classes.get(labels[place]) ?? []), place]);
  const groups = [...classes].sort(([a], [b]) => a - b).map(([, places]) => places);
  // The whole number of pictures to hold back, shared out by largest remainders; every class keeps one to train on.
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
  const out = new Set(
    groups.flatMap((places, i) =>
      places.filter((place) => !isCopy(place)).slice(0, Math.min(shares[i], places.length - 1)),
    ),
  );
  return { in: order.filter((place) => !out.has(place)), out: order.filter((place) => out.has(place)), uda: [] };
}

const known = new WeakMap<object, ReadonlySet<string>>();

/** The files that are equal to another one, as their size and their first and last bytes tell. */
function copiesIn({ root, domains }: PictureDataset): ReadonlySet<string> {
  const before = known.get(domains);
  if (before) return before;
  const files = new Map<string, string[]>();
  for (const { files: own } of domains)
    for (const file of own) {
      const { fingerprint, bytes } = lookAt(resolve(root, file), { domain: 0, label: 0, file });
      if (bytes > 0) files.set(fingerprint, [...(files.get(fingerprint) ?? []), file]);
    }
  const copies = new Set([...files.values()].filter(({ length }) => length > 1).flat());
  known.set(domains, copies);
  return copies;
}
