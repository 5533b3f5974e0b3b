import { expect, test } from "vitest";
import { SettingsMemo } from "../settings/memo.js";
import { type JobOf, jobName, jobSeed } from "./reference-jobs.js";

const memo = new SettingsMemo();
const job = (algorithm: string, more: Partial<JobOf> = {}): JobOf => ({
  ...{ dataset: "pacs", method: memo.method({ algorithm }), testDomains: [0], trialSeed: 0, hparamsSeed: 0 },
  ...more,
});

test("seeds and names of jobs are the reference's", () => {
  expect(jobSeed(job("erm"))).toBe(94828300);
  expect(jobName(job("erm"), { dataDir: "data" })).toBe("5d347171b86e3b941e8400685158edec");
  const other = job("erm", { testDomains: [0, 1], hparamsSeed: 3, trialSeed: 1 });
  expect(jobSeed(other)).toBe(1588147304);
  expect(jobName(other, { dataDir: "data" })).toBe("302afbec48cac185e9b7960659c6ba46");
});

test("an average is made on the method's own run, and has its seed", () => {
  expect(jobSeed(job("SWAD"))).toBe(jobSeed(job("ERM")));
});

test("what the reference does not have has a seed in the same manner and no job", () => {
  expect(jobName(job("ERM-NU"), { dataDir: "data" })).toBeUndefined();
  expect(jobName(job("erm", { dataset: "shapes" }), { dataDir: "data" })).toBeUndefined();
  expect(jobSeed(job("ERM-NU"))).not.toBe(jobSeed(job("ERM")));
  expect(jobName(job("and-mask"), { dataDir: "data" })).toBeDefined();
});

test("steps are part of a job's name only where they are given", () => {
  expect(jobName(job("erm"), { dataDir: "data", steps: 5001 })).not.toBe(jobName(job("erm"), { dataDir: "data" }));
});
