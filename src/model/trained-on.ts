/**
 * Whether a model was trained on the pictures that it is evaluated on: then the accuracy measures memorization. A model
 * file contains the hash of its split and the inputs of that split, and for own pictures their fingerprint, so its
 * training folder is recognized. In other folders, copies and near-duplicates of training pictures are recognized if
 * the run folder of the model has a list of them (training-pictures.ts).
 */

import { accuracyOf, type Share } from "../analysis/assess.js";
import type { Judged } from "../analysis/judged.js";
import { type Dataset, withoutRelated } from "../data/dataset.js";
import { nearDuplicatesOf } from "../data/near-duplicates.js";
import { isSplitByClass, splitOf } from "../data/own-split.js";
import type { SignatureOptions } from "../data/picture-signatures.js";
import { picturesHash } from "../data/pictures-hash.js";
import { countOf, listNames } from "../data/show-name.js";
import { type Split, splitDataset, splitHash } from "../data/split.js";
import type { ModelAbout } from "./about.js";
import { seenPictures, type TrainingPictures, trainedPlaces } from "./training-pictures.js";

/** Training pictures of a model among the evaluated ones. */
export type TrainedOn =
  /**
   * How many of the pictures it was trained on, how many others are near-duplicates of these, and its accuracy on the
   * rest. `domains` as below, for members of an ensemble of which nothing more is known.
   */
  | {
      readonly count: number;
      readonly nearDuplicates: number;
      readonly others: Share;
      readonly domains?: readonly string[];
    }
  /** Some domains have the names of training domains, and nothing more is known. */
  | { readonly domains: readonly string[] };

type Trained = Pick<ModelAbout, "domains" | "testDomains" | "settings">;

/** A model, and the list of its training pictures, if its run folder has one. */
export interface TrainedModel {
  readonly about: Trained;
  readonly training?: TrainingPictures;
}

/** Which of the evaluated pictures the model was trained on; null if there is no sign of any. */
export const trainedOn = (
  about: Trained,
  dataset: Dataset,
  pictures: readonly Judged[],
  { training, comparing }: { training?: TrainingPictures; comparing?: SignatureOptions } = {},
): Promise<TrainedOn | null> => membersTrainedOn([{ about, training }], dataset, pictures, comparing);

/** Which of the evaluated pictures at least one of several models was trained on; null if there is no sign of any. */
export async function membersTrainedOn(
  members: readonly TrainedModel[],
  dataset: Dataset,
  pictures: readonly Judged[],
  comparing?: SignatureOptions,
): Promise<TrainedOn | null> {
  const learnt = new Set<string>();
  const alike = new Set<string>();
  const sameNames = new Set<string>();
  const shown = new Set(pictures.map(({ domain }) => domain));
  for (const { about, training } of members) {
    const split = await trainingSplit(about, dataset);
    const compares = training !== undefined && dataset.kind === "pictures";
    if (split) for (const name of learntIn(split, about, dataset)) learnt.add(name);
    if (compares) {
      const rest = pictures.filter(({ name }) => !learnt.has(name));
      const { copies, nearDuplicates } = await seenPictures(training, dataset, rest, comparing);
      for (const name of copies) learnt.add(name);
      for (const name of nearDuplicates) alike.add(name);
    } else if (split === null && dataset.hasDomains)
      for (const name of about.domains) if (shown.has(name)) sameNames.add(name); // otherwise the only domain is called "all"
  }
  const domains = sameNames.size > 0 ? { domains: [...sameNames] } : null;
  const others = pictures.filter(({ name }) => !learnt.has(name) && !alike.has(name));
  if (others.length === pictures.length) return domains;
  const count = pictures.filter(({ name }) => learnt.has(name)).length;
  return { count, nearDuplicates: pictures.length - others.length - count, others: accuracyOf(others), ...domains };
}

/** The names of the pictures of its training folder that a model was trained on. */
function learntIn(split: Split, about: Trained, dataset: Dataset): ReadonlySet<string> {
  const learnt = new Set<string>();
  for (const { name, files } of dataset.domains)
    if (about.domains.includes(name))
      for (const i of trainedPlaces(split.get(name)!, about.settings)) learnt.add(files?.[i] ?? `${name}/${i}`);
  return learnt;
}

/** The split that a model was trained on, if the dataset is the one it was trained on. */
async function trainingSplit({ testDomains, settings }: Trained, whole: Dataset): Promise<Split | null> {
  const dataset = withoutRelated(whole, testDomains);
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
  const sameNames = (of: string, domains: readonly string[]): string =>
    `${of} was trained on ${domains.length === 1 ? "a domain" : "domains"} with the same name (${listNames(domains)}); if these are the same pictures, the results are too optimistic`;
  if (!("count" in found)) return sameNames("the model", found.domains);
  const { count, nearDuplicates, others, domains } = found;
  const percent = (share: number): string => (100 * share).toFixed(1);
  const [from, to] = others.interval;
  const rest =
    others.count === 0
      ? "there are no other pictures to evaluate it on"
      : `accuracy on the other ${others.count}: ${percent(others.accuracy)} % (95 % interval ${percent(from)} to ${percent(to)})`;
  const total = countOf(count + nearDuplicates + others.count, "picture");
  const seen = [
    ...(count > 0 ? [`the model was trained on ${count} of these ${total}`] : []),
    ...(nearDuplicates > 0
      ? [
          `${countOf(nearDuplicates, count > 0 ? "other is a near-duplicate" : "picture is a near-duplicate", count > 0 ? "others are near-duplicates" : "pictures are near-duplicates")} of its training pictures`,
        ]
      : []),
  ];
  const more = domains ? `; another member of the ensemble: ${sameNames("it", domains)}` : "";
  return `${seen.join(", and ")}, so the results are too optimistic; ${rest}${more}`;
}
