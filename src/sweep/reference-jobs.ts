/**
 * The same jobs in the reference testbed: the seed it would give a run, and the name of the folder it would make. A method it
 * does not have is named here as papers name it, which gives it seeds in the same manner and no folder.
 */

import { referenceAlgorithms, referenceDataset } from "../records/domainbed-names.js";
import { referenceJobName, referenceJobSeed } from "../reference/job.js";
import type { Method } from "../settings/method.js";
import { bareName } from "../settings/names.js";

export interface JobOf {
  /** The dataset's id here. */
  readonly dataset: string;
  readonly method: Method;
  /** As places in the dataset's order. */
  readonly testDomains: readonly number[];
  readonly trialSeed: number;
  readonly hparamsSeed: number;
}

/** What the reference calls an algorithm, else its title with those of its penalties: averages are made on the same run. */
function algorithmName({ algorithm, regularizers }: Method): string {
  const known = referenceAlgorithms.find((name) => bareName(name) === bareName(algorithm.id));
  return [known ?? algorithm.title, ...regularizers.map(({ title }) => title)].join("-");
}

const toJob = ({ dataset, method, ...rest }: JobOf) => ({
  ...rest,
  dataset: referenceDataset(dataset)?.name ?? dataset,
  algorithm: algorithmName(method),
});

/** The seed that the reference gives this run. */
export const jobSeed = (job: JobOf): number => referenceJobSeed(toJob(job));

/**
 * The folder that the reference makes for this run; undefined where it has no such dataset or method. `dataDir`, `steps`
 * and `holdout` as they would be on its command line: they are part of the name.
 */
export function jobName(job: JobOf, given: { dataDir: string; steps?: number; holdout?: number }): string | undefined {
  const named = toJob(job);
  if (!referenceDataset(job.dataset) || !referenceAlgorithms.includes(named.algorithm)) return undefined;
  return referenceJobName({ ...named, ...given });
}
