/**
 * The same jobs in DomainBed: the seed that it would give a run, and the name of the folder that it would create. A method that
 * DomainBed does not have is named as in papers; it gets its seeds in the same way, and no folder name.
 */

import { referenceAlgorithms, referenceDataset } from "../records/domainbed-names.js";
import { referenceJobName, referenceJobSeed } from "../reference/job.js";
import type { Method } from "../settings/method.js";
import { bareName } from "../settings/names.js";

export interface JobOf {
  /** The id of the dataset in this project. */
  readonly dataset: string;
  readonly method: Method;
  /** As indices in the order of the dataset. */
  readonly testDomains: readonly number[];
  readonly trialSeed: number;
  readonly hparamsSeed: number;
}

/** DomainBed's name of an algorithm, otherwise its title with those of its penalties. Averages belong to the same run. */
function algorithmName({ algorithm, regularizers }: Method): string {
  const known = referenceAlgorithms.find((name) => bareName(name) === bareName(algorithm.id));
  return [known ?? algorithm.title, ...regularizers.map(({ title }) => title)].join("-");
}

const toJob = ({ dataset, method, ...rest }: JobOf) => ({
  ...rest,
  dataset: referenceDataset(dataset)?.name ?? dataset,
  algorithm: algorithmName(method),
});

/** The seed that DomainBed gives this run. */
export const jobSeed = (job: JobOf): number => referenceJobSeed(toJob(job));

/**
 * The folder that DomainBed creates for this run; undefined if it does not have the dataset or the method. `dataDir`, `steps`
 * and `holdout` have the values of its command line, because they are part of the name.
 */
export function jobName(job: JobOf, given: { dataDir: string; steps?: number; holdout?: number }): string | undefined {
  const named = toJob(job);
  if (!referenceDataset(job.dataset) || !referenceAlgorithms.includes(named.algorithm)) return undefined;
  return referenceJobName({ ...named, ...given });
}
