/** What an algorithm asks of the training domains, checked before anything is built. */

import { UsageError } from "../errors.js";
import type { AlgorithmDefinition } from "./algorithm.js";

export interface TrainingDomains {
  /** How many there are to train on. */
  readonly domains: number;
  /** Where the samples come from, where that is known. */
  readonly dataset?: { readonly id: string; readonly hasDomains: boolean };
}

/** Refuses samples without domain labels where the update needs them, and too few domains. */
export function checkDomains(
  { title, needsDomains, minDomains = 1 }: Pick<AlgorithmDefinition, "title" | "needsDomains" | "minDomains">,
  { domains, dataset }: TrainingDomains,
): void {
  if (needsDomains && dataset && !dataset.hasDomains) {
    throw new UsageError(
      `${title} needs to know the domain of each sample, and those of dataset ${dataset.id} came without domains. ` +
        "Give each domain a folder, or take an algorithm that needs none (nudge list algorithms says which)",
    );
  }
  if (domains < minDomains) {
    throw new UsageError(`${title} needs at least ${minDomains} training domains, got ${domains}`);
  }
}
