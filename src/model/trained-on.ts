/**
 * Whether a model was trained on the pictures that it is evaluated on: then the accuracy measures memorization. A model
 * file contains the hash of its split and the inputs of that split, and for own pictures their fingerprint, so its
 * training folder is recognized.
 */

import { accuracyOf, type Share } from "../analysis/assess.js";
import type { Judged } from "../analysis/judged.js";
import type { Dataset } from "../data/dataset.js";
import { nearDuplicatesOf } from "../data/near-duplicates.js";
import { isSplitByClass, splitOf } from "../data/own-split.js";
import { picturesHash } from "../data/pictures-hash.js";
import { countOf, listNames } from "../data/show-name.js";
import { type DomainSplit, type Split, splitDataset, splitHash } from "../data/split.js";
import type { ModelAbout } from "./about.js";

/** Training pictures of a model among the evaluated ones. */
export type TrainedOn =
  /**
   * The dataset is the one it was trained on: how many of the pictures it was trained on, and its accuracy on the
   * others.
   */
  | { readonly count: number; readonly others: Share }
  /** Some domains have the names of training domains, and nothing more is known. */
  | { readonly domains: readonly string[] };

type Trained = Pick<ModelAbout, "domains" | "testDomains" | "settings">;

/** Which of the evaluated pictures the model was trained on; null if there is no sign of any. */
export async function trainedOn(
  about: Trained,
  dataset: Dataset,
  pictures: readonly Judged[],
): Promise<TrainedOn | null> {
  const split = await trainingSplit(about, dataset);
  if (split === null) {
    const shown = new Set(pictures.map(({ domain }) => domain));
    const domains = dataset.hasDomains ? about.domains.filter((name) => shown.has(name)) : []; // otherwise the only domain is called "all"
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

/** For an exact probe that was fitted again, this includes the validation pictures. */
const trainedPlaces = (parts: DomainSplit, { settings }: Trained): readonly number[] =>
  settings.refit === true || settings.trainOnAll === true ? [...parts.in, ...parts.out] : parts.in;

/** The split that a model was trained on, if the dataset is the one it was trained on. */
async function trainingSplit({ testDomains, settings }: Trained, dataset: Dataset): Promise<Split | null> {
  const { trialSeed, holdout, pictures } = settings;
  const names = dataset.domains.map(({ name }) => name);
  if (!testDomains.every((name) => names.includes(name))) return null;
  // The settings come from the file, which can be from anyone.
  if (!Number.isSafeInteger(trialSeed) || typeof holdout !== "number" || !(holdout >= 0 && holdout < 1)) return null;
  // Models of earlier versions, and of benchmarks, do not identify their pictures: names and counts are compared
  // instead.
  if (pictures !== undefined && (dataset.kind !== "pictures" || picturesHash(dataset) !== pictures)) return null;
  const options = { trialSeed: trialSeed as number, testDomains, holdout };
  // Own pictures were split like benchmarks before the split by class existed.
  const together = settings.nearDuplicates === "together" && isSplitByClass(dataset);
  const grouped = together ? { ...dataset, nearDuplicates: await nearDuplicatesOf(dataset) } : dataset;
  const splits = [splitOf(grouped, options), dataset.givenSplit ?? splitDataset(dataset.domains, options)];
  return splits.find((split) => splitHash(split) === settings.splitHash) ?? null;
}

/** The same as text, for readers of the results. */
export function trainedOnWords(found: TrainedOn): string {
  if ("domains" in found)
    return `the model was trained on ${found.domains.length === 1 ? "a domain" : "domains"} with the same name (${listNames(found.domains)}); if these are the same pictures, the results are too optimistic`;
  const { count, others } = found;
  const percent = (share: number): string => (100 * share).toFixed(1);
  const [from, to] = others.interval;
  const rest =
    others.count === 0
      ? "there are no other pictures to evaluate it on"
      : `accuracy on the other ${others.count}: ${percent(others.accuracy)} % (95 % interval ${percent(from)} to ${percent(to)})`;
  return `the model was trained on ${count} of these ${countOf(count + others.count, "picture")}, so the results are too optimistic; ${rest}`;
}
