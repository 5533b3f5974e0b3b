/**
 * The predictions of a run's model on the pictures that were held out from its training, stored in the run folder so
 * that a later model can be compared on them.
 */

import type { Judged } from "../analysis/judged.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";

export const HELD_BACK_FILE = "held-back.json";

export interface HeldBack {
  readonly format: 1;
  /** The pictures, with file names relative to the dataset's folder and class names. */
  readonly pictures: readonly {
    readonly name: string;
    readonly domain: string;
    readonly label: string;
    readonly predicted: string;
  }[];
  /** The files that the evaluated model was trained on. */
  readonly trained: readonly string[];
}

/** Creates the file contents from the model's predictions. */
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
