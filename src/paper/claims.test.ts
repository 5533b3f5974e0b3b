import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains, writeMadeRun, writePacsSweep } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { datasets } from "../data/datasets/index.js";
import { readResults } from "../report/read-results.js";
import { makeReport } from "../report/report.js";
import type { JudgedClaim } from "./claims.js";
import { paperDatasets } from "./published.js";

const claimsOn = (write: (folder: string) => void): JudgedClaim[] =>
  inFolder((folder) => {
    write(folder);
    return [...makeReport(readResults([folder]), { claims: true }).claims];
  });

const claimOf = (claims: readonly JudgedClaim[], words: string): JudgedClaim =>
  claims.find(({ claim }) => claim.includes(words))!;

test("every accuracy claim holds on the numbers the paper prints, with the subtraction shown", () => {
  const claims = claimsOn(writePacsSweep);
  expect(claims.map(({ published }) => published.verdict)).toEqual([...Array(7).fill("holds"), "open"]);
  expect(claimOf(claims, "0.9 points").published.why).toBe("67.8 − 66.9 = +0.9");
  expect(claimOf(claims, "1.7 points").published.why).toMatch(/^65\.0 − 63\.3 = \+1\.7 \(DomainNet ran 5,001 steps/);
  expect(claimOf(claims, "ERM-NU is better").published.why).toContain("PACS +0.1 ± 0.2");
});

test("a claim about five datasets stays open on one, and without runs says what it needs", () => {
  const claims = claimsOn(writePacsSweep);
  expect(claimOf(claims, "1.7 points").ours).toEqual({
    verdict: "open",
    why: "PACS +2.5 (+1.3 … +3.7; p 0.013, Holm 0.013); whole results on 1 of 5 datasets",
  });
  expect(claimOf(claims, "Mixup-NU is 3.1").ours.verdict).toBe("no runs");
  expect(claimOf(claims, "Mixup-NU is 3.1").ours.why).toContain("every domain of DomainNet held out");
});

/**
 * Writes ERM and ERM-NU runs on all five datasets in three trials that differ slightly, with this gain in percentage
 * points for each dataset.
 */
function writeFive(folder: string, gains: readonly number[], trials = [0, 1, 2]): void {
  paperDatasets.forEach((dataset, i) => {
    const domains = datasets[dataset].published!.domains.map(({ name }) => name);
    for (const heldOut of domains)
      for (const trial of trials) {
        const made = { dataset, domains, heldOut, trial };
        const gain = gains[i] + (trial - 1) * 0.1; // the half interval is 0.1·4.303/√3 = 0.25 points
        writeMadeRun(folder, { ...made, accuracy: 0.5 });
        writeMadeRun(folder, { ...made, accuracy: 0.5 + gain / 100, regularizers: nuclearNormOn });
      }
  });
}

test.each([
  [[1.7, 1.7, 1.7, 3.5, 1.7], "holds", "holds", "holds"],
  [[1, 1, 1, 2.5, 1], "smaller", "smaller", "holds"],
  [[3, 3, -0.9, 3, 3], "holds", "smaller", "fails"],
  [[1.7, 1.7, 0.1, 3.5, 1.7], "holds", "holds", "open"], // on one dataset smaller than its interval
  [[-1, -1, -1, -1, -1], "fails", "fails", "fails"],
])("on all five datasets with gains %j: average %s, TerraIncognita %s, everywhere %s", (gains, ...verdicts) => {
  const claims = claimsOn((folder) => writeFive(folder, gains));
  expect(["1.7 points", "3.5 points", "ERM-NU is better"].map((words) => claimOf(claims, words).ours.verdict)).toEqual(
    verdicts,
  );
});

test("one trial decides nothing, and the text says that it has no interval", () => {
  const claims = claimsOn((folder) => writeFive(folder, [3, 3, 3, 4, 3], [1]));
  for (const words of ["1.7 points", "3.5 points", "ERM-NU is better"]) {
    const { verdict, why } = claimOf(claims, words).ours;
    expect([verdict, why]).toEqual(["open", expect.stringContaining("TerraIncognita +4.0 (one trial, no interval)")]);
  }
});

test("equal differences in two trials decide nothing either", () => {
  const claims = claimsOn((folder) => {
    for (const trial of [0, 1])
      for (const heldOut of pacsDomains)
        for (const regularizers of [[], nuclearNormOn])
          writeMadeRun(folder, { heldOut, trial, accuracy: 0.5 - 0.02 * regularizers.length, regularizers });
  });
  expect(claimOf(claims, "ERM-NU is better").ours).toEqual({
    verdict: "open",
    why: "PACS -2.0 (equal in all 2 trials, no interval)",
  });
});

function safetensors(tensors: Record<string, number[]>): Buffer {
  const entries = Object.entries(tensors).map(([name, shape]) => [name, { dtype: "F32", shape, data_offsets: [0, 0] }]);
  const header = Buffer.from(JSON.stringify({ __metadata__: { nudge: "{}" }, ...Object.fromEntries(entries) }));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([size, header]);
}

test.each([
  ["the same tensors", safetensors({ weight: [2, 3] }), "holds"],
  ["other shapes", safetensors({ weight: [3, 3] }), "fails"],
  ["one more", safetensors({ weight: [2, 3], extra: [1] }), "fails"],
  ["a damaged file", Buffer.from("not a model"), "no runs"],
  ["a header longer than the file", Buffer.from([255, 255, 0, 0, 0, 0, 0, 0, 123]), "no runs"],
])("inference is judged by the model files: %s", (_, bytes, verdict) => {
  const claims = claimsOn((folder) => {
    const made = { heldOut: pacsDomains[0], trial: 0, accuracy: 0.5 };
    const plain = writeMadeRun(folder, made);
    const penalized = writeMadeRun(folder, { ...made, regularizers: nuclearNormOn });
    mkdirSync(plain, { recursive: true });
    writeFileSync(join(plain, "model.safetensors"), safetensors({ weight: [2, 3] }));
    writeFileSync(join(penalized, "model.safetensors"), bytes);
  });
  expect(claimOf(claims, "inference").ours.verdict).toBe(verdict);
});

test("a verdict on runs with settings of their own names them", () => {
  const claims = claimsOn((folder) => {
    for (const regularizers of [[], nuclearNormOn])
      for (const heldOut of pacsDomains)
        writeMadeRun(folder, { heldOut, trial: 0, accuracy: 0.5, regularizers, settings: { fixed: { steps: 9 } } });
  });
  expect(claimOf(claims, "ERM-NU is better").ours).toEqual({
    verdict: "open",
    why: "PACS 0.0 (one trial, no interval) (set by hand: steps=9)",
  });
});

test("with runs of two protocols, the penalty is judged against runs of its own", () => {
  const fixed = { protocol: "swad" };
  const claims = claimsOn((folder) => {
    for (const heldOut of pacsDomains) {
      writeMadeRun(join(folder, "domainbed"), { heldOut, trial: 0, accuracy: 0.5 });
      writeMadeRun(join(folder, "swad"), { heldOut, trial: 0, accuracy: 0.6, settings: { fixed } });
      writeMadeRun(join(folder, "swad"), {
        heldOut,
        trial: 0,
        accuracy: 0.62,
        regularizers: nuclearNormOn,
        settings: { fixed },
      });
    }
  });
  expect(claimOf(claims, "ERM-NU is better").ours.why).toBe("PACS +2.0 (one trial, no interval)");
});
