/** Checks an algorithm's requirements for the training domains before anything is built. */

import { UsageError } from "../errors.js";
import type { AlgorithmDefinition } from "./algorithm.js";

export interface TrainingDomains {
  /** The number of training domains. */
  readonly domains: number;
  /** The dataset of the samples, if it is known. */
  readonly dataset?: { readonly id: string; readonly hasDomains: boolean };
  /** The algorithm's hyperparameters, which may select a variant without domain labels. */
  readonly hparams?: Readonly<Record<string, unknown>>;
}

type Asked = Pick<AlgorithmDefinition, "title" | "needsDomains" | "domainFree" | "minDomains">;

/** Throws an error if the update needs domain labels and the samples have none, or if there are too few domains. */
export function checkDomains(
  { title, needsDomains, domainFree = {}, minDomains = 1 }: Asked,
  { domains, dataset, hparams = {} }: TrainingDomains,
): void {
  const variant = Object.entries(domainFree);
  const isFree = !needsDomains || (variant.length > 0 && variant.every(([name, value]) => hparams[name] === value));
  if (!isFree && dataset && !dataset.hasDomains) {
    const settings = variant.map(([name, value]) => `${name}=${value}`).join(" ");
    throw new UsageError(
      `${title} needs to know the domain of each sample, and those of dataset ${dataset.id} came without domains. ` +
        `Give each domain a folder, ${settings ? `set ${settings}, ` : ""}or take an algorithm that needs none (nudge list algorithms says which)`,
    );
  }
  if (domains < minDomains) {
    throw new UsageError(`${title} needs at least ${minDomains} training domains, got ${domains}`);
  }
}
