/**
 * Turns a dataset of pictures into a dataset of their features, with the same domains, labels and indices, so that
 * splits and batches are the same. Pictures that cannot be read have no features and are excluded from the split.
 */

import type { ArrayDataset, PictureDataset } from "../data/dataset.js";
import type { DomainSplit, Split } from "../data/split.js";
import { type FeatureStore, problemOf } from "./feature-cache.js";

/** Returns the dataset with features instead of pictures. */
export function featureDataset(dataset: PictureDataset, store: FeatureStore, width: number): ArrayDataset {
  const { id, title, root, classes, hasDomains, options, notes } = dataset;
  return {
    ...{ id, title, root, classes, hasDomains, options, notes },
    kind: "arrays",
    inputShape: [width],
    augmentable: false,
    domains: dataset.domains.map(({ name, count, labels, files }) => ({
      ...{ name, count, labels },
      read: (i) => store.read(files[i]),
    })),
  };
}

/** The split without the pictures that have no features, and the reasons why they have none. */
export function withoutLost(
  split: Split,
  dataset: PictureDataset,
  { entries }: FeatureStore,
): { split: Split; lost: ReadonlyMap<string, string> } {
  const lost = new Map<string, string>();
  const left = dataset.domains.map(({ name, files }): [string, DomainSplit] => {
    const has = (place: number): boolean => {
      const problem = problemOf(entries.get(files[place]));
      if (problem !== undefined) lost.set(files[place], problem);
      return problem === undefined;
    };
    const { in: inside, out, uda } = split.get(name)!;
    return [name, { in: inside.filter(has), out: out.filter(has), uda: uda.filter(has) }];
  });
  return { split: new Map(left), lost };
}
