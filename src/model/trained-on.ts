/**
 * Whether pictures that a model is measured on are pictures it was trained on: then accuracy says how well it remembers. A
 * model file has the hash of its split and what that was made from, and of one's own pictures their fingerprint, so its
 * training folder is known again.
 */

import { accuracyOf, type Share } from "../analysis/assess.js";
import type { Judged } from "../analysis/judged.js";
import type { Dataset } from "../data/dataset.js";
import { splitOf } from "../data/own-split.js";
import { picturesHash } from "../data/pictures-hash.js";
import { countOf, listNames } from "../data/show-name.js";
import { type DomainSplit, type Split, splitDataset, splitHash } from "../data/split.js";
import type { ModelAbout } from "./about.js";

/** Pictures of a model's training among others. */
export type TrainedOn =
  /** The dataset is the one it was trained on: how many of the pictures it learnt, and how it does on the others. */
  | { readonly count: number; readonly others: Share }
  /** Domains have the names of some it was trained on, and more is not known. */
  | { readonly domains: readonly string[] };

type Trained = Pick<ModelAbout, "domains" | "testDomains" | "settings">;

/** What of the judged pictures of a dataset was trained on; null where nothing hints at any. */
export function trainedOn(about: Trained, dataset: Dataset, pictures: readonly Judged[]): TrainedOn | null {
  const split = trainingSplit(about, dataset);
  if (split === null) {
    const shown = new Set(pictures.map(({ domain }) => domain));
    const domains = dataset.hasDomains ? about.domains.filter((name) => shown.has(name)) : []; // else all are called "all"
    return domains.length > 0 ? { domains } : null;
  }
  const learnt = new Set<string>();
  for (const { name, files } of dataset.domains)
    if (about.domains.includes(name))
      for (const i of trainedPlaces(split.get(name)!, about)) learnt.add(files?.[i] ?? `${name}/${i}`);
  const others = pictures.filter(({ name }) => !learnt.has(name));
  const count = pictures.length - others.length;
  return count > 0 ? { count, others: accuracyOf(others) } : null;
}

/** Of an exact probe that was fitted again, the validation pictures too. */
const trainedPlaces = (parts: DomainSplit, { settings }: Trained): readonly number[] =>
  settings.refit === true ? [...parts.in, ...parts.out] : parts.in;

/** The split a model was trained by, where the dataset is the one it was trained on. */
function trainingSplit({ testDomains, settings }: Trained, dataset: Dataset): Split | null {
  const { trialSeed, holdout, pictures } = settings;
  const names = dataset.domains.map(({ name }) => name);
  if (!testDomains.every((name) => names.includes(name))) return null;
  // The settings come with the file, which may be anyone's.
  if (!Number.isSafeInteger(trialSeed) || typeof holdout !== "number" || !(holdout >= 0 && holdout < 1)) return null;
  // Models of earlier versions, and of benchmarks, do not say which pictures they are of: names and counts must do.
  if (pictures !== undefined && (dataset.kind !== "pictures" || picturesHash(dataset) !== pictures)) return null;
  const options = { trialSeed: trialSeed as number, testDomains, holdout };
  // Own pictures were split as benchmarks are before there was a split by class.
  const splits = [splitOf(dataset, options), dataset.givenSplit ?? splitDataset(dataset.domains, options)];
  return splits.find((split) => splitHash(split) === settings.splitHash) ?? null;
}

/** The same in words, for who reads the figures. */
export function trainedOnWords(found: TrainedOn): string {
  if ("domains" in found)
    return `it was trained on ${found.domains.length === 1 ? "a domain" : "domains"} called ${listNames(found.domains)} too: if these are the same pictures, the figures are better than the model`;
  const { count, others } = found;
  const percent = (share: number): string => (100 * share).toFixed(1);
  const [from, to] = others.interval;
  const rest =
    others.count === 0
      ? "no other is here to measure it on"
      : `on the other ${others.count} it is right in ${percent(others.accuracy)} % (95 % interval ${percent(from)} to ${percent(to)})`;
  return `${count} of these ${countOf(count + others.count, "picture")} were trained on, so the figures are better than the model: ${rest}`;
}
