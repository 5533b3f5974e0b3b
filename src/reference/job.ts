/**
 * Names the jobs of a sweep like the reference testbed: the seed and the folder of a job, so that a sweep planned here
 * can share a folder with one planned there.
 */
import { createHash } from "node:crypto";
import { type PythonJson, pythonJson } from "./python-json.js";
import { PythonFloat } from "./python-number.js";
import { seedHash } from "./seed-hash.js";

/** One job, with the reference's names of datasets and algorithms (`PACS`, `ERM`). */
export interface ReferenceJob {
  dataset: string;
  algorithm: string;
  /** The indices of the held-out domains. */
  testDomains: readonly number[];
  trialSeed: number;
  hparamsSeed: number;
  /** As given on the command line; it is part of the name. */
  dataDir: string;
  /** The default is 0.2. */
  holdout?: number;
  task?: "domain_generalization" | "domain_adaptation";
  /** Only if it was given. */
  steps?: number;
  /** Overrides of hyperparameters as JSON text, only if they were given. */
  hparams?: string;
}

/** The seed of a job's run. */
export function referenceJobSeed(
  job: Pick<ReferenceJob, "dataset" | "algorithm" | "testDomains" | "trialSeed" | "hparamsSeed">,
): number {
  return seedHash(job.dataset, job.algorithm, job.testDomains, job.hparamsSeed, job.trialSeed);
}

/** The reference's arguments of a job, without its output folder. */
export function referenceJobArguments(job: ReferenceJob): { [name: string]: PythonJson } {
  return {
    dataset: job.dataset,
    algorithm: job.algorithm,
    test_envs: job.testDomains,
    holdout_fraction: new PythonFloat(job.holdout ?? 0.2),
    hparams_seed: job.hparamsSeed,
    data_dir: job.dataDir,
    task: job.task ?? "domain_generalization",
    trial_seed: job.trialSeed,
    seed: referenceJobSeed(job),
    ...(job.steps === undefined ? {} : { steps: job.steps }),
    ...(job.hparams === undefined ? {} : { hparams: job.hparams }),
  };
}

/** The name of a job's folder: the MD5 of its arguments as Python's JSON, in hexadecimal. */
export function referenceJobName(job: ReferenceJob): string {
  return createHash("md5")
    .update(pythonJson(referenceJobArguments(job)), "ascii")
    .digest("hex");
}
