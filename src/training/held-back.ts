/** What a run's model says of the pictures that were held back from it, kept beside it so that a later model can be compared on them. */

import type { Judged } from "../analysis/judged.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";

export const HELD_BACK_FILE = "held-back.json";

export interface HeldBack {
  readonly format: 1;
  /** By file relative to the dataset's folder; classes by name. */
  readonly pictures: readonly {
    readonly name: string;
    readonly domain: string;
    readonly label: string;
    readonly predicted: string;
  }[];
  /** The files that the measured model was trained on. */
  readonly trained: readonly string[];
}

/** The record of a run whose model has judged pictures. */
export function heldBackOf({ dataset, settings, split }: Plan, judged: readonly Judged[]): HeldBack {
  const { classes } = settings;
  const training = new Set(trainDomainsOf(settings));
  return {
    format: 1,
    pictures: judged
      .filter(({ domain }) => training.has(domain))
      .map(({ name, domain, label, predicted }) => ({
        ...{ name, domain, label: classes[label], predicted: classes[predicted] },
      })),
    trained: dataset.domains
      .filter(({ name }) => training.has(name))
      .flatMap(({ name, files }) => split.get(name)!.in.map((place) => files?.[place] ?? `${name}/${place}`))
      .sort(),
  };
}
