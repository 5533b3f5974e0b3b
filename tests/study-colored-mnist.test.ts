/** DomainBed's table of ColoredMNIST: draws against those of its code of 2020, the rules of agreement by hand, and the result on made-up runs. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { algorithms } from "../src/algorithms/index.js";
import { sharedHparams } from "../src/algorithms/shared-hparams.js";
import type { RunRecord } from "../src/records/record.js";
import { drawnHparams, jobSeedOf, settingsOf } from "../studies/colored-mnist/draws.mjs";
import { ALGORITHMS, agreement, DOMAINS, published, SELECTIONS } from "../studies/colored-mnist/table.mjs";
import { inFolder, writeRun } from "./support/run-folders.js";

interface Drawn {
  readonly algorithm: string;
  readonly draw: number;
  readonly trial: number;
  readonly hparams: Readonly<Record<string, number | boolean>>;
}

const { rows: drawn } = JSON.parse(
  readFileSync(join(import.meta.dirname, "vectors/domainbed-2020-draws.json"), "utf8"),
) as { rows: readonly Drawn[] };

/** DomainBed's names of our settings. */
function namesOf(id: string): Record<string, string> {
  const { hparams } = algorithms[id];
  const shared = sharedHparams({ dataset: "colored-mnist", size: "small" });
  const own = Object.entries(hparams).map(([name, { reference }]) => [`${id}.${name}`, reference]);
  return Object.fromEntries([...own, ...Object.entries(shared).map(([name, { reference }]) => [name, reference])]);
}

/** Equal except for the last bit of a power, which the C library of NumPy may round differently. */
const isEqual = (a: number, b: number): boolean => Math.abs(a - b) <= Number.EPSILON * Math.abs(b);

test("draws equal those of DomainBed's code of October 2020, for all algorithms of its table", () => {
  expect(new Set(drawn.map(({ algorithm }) => algorithm))).toEqual(new Set(Object.keys(ALGORITHMS)));
  for (const { algorithm, draw, trial, hparams } of drawn.filter(({ draw }) => draw > 0)) {
    const id = ALGORITHMS[algorithm];
    const names = namesOf(id);
    const ours = Object.entries(drawnHparams(id, { draw, trial })).map(
      ([name, value]) => [names[name], value] as const,
    );
    for (const [name, value] of ours)
      expect(isEqual(value, Number(hparams[name])), `${algorithm} ${draw} ${trial}: ${name} ${value}`).toBe(true);
    // Nothing that the code draws is missing: the others are constants, and the learning rate that DANN does not use.
    const constants = ["data_augmentation", "resnet18", "class_balanced", "weight_decay"];
    const unused = ["DANN", "CDANN"].includes(algorithm) ? ["lr", "weight_decay_g"] : [];
    expect(ours.map(([name]) => name).sort()).toEqual(
      Object.keys(hparams)
        .filter((name) => ![...constants, ...unused].includes(name))
        .sort(),
    );
  }
});

test("the defaults are those of that code, so the first draw needs no settings", () => {
  for (const { algorithm, hparams } of drawn.filter(({ draw }) => draw === 0)) {
    const id = ALGORITHMS[algorithm];
    const { hparams: own, hparamsBySize } = algorithms[id];
    const declared = { ...own, ...hparamsBySize?.small };
    for (const { reference, default: value } of Object.values(declared))
      if (reference !== undefined && Object.hasOwn(hparams, reference))
        expect(value, `${algorithm} ${reference}`).toBe(hparams[reference]);
  }
});

test("a run has the variants of that commit, and the seed of its job", () => {
  expect(settingsOf("group-dro", { draw: 0, trial: 0 })).toEqual({ "group-dro.divideByDomains": "true" });
  expect(settingsOf("mixup", { draw: 7, trial: 1 })["mixup.alpha"]).toBeCloseTo(0.1, 12);
  // int(md5(str(("ColoredMNIST", "IRM", [2], 0, 0)))) % 2**31, by Python
  expect(jobSeedOf({ title: "IRM", domain: "-90%", trial: 0, draw: 0 })).toBe(1552036488);
});

test("the rule of agreement, by hand", () => {
  // se 0.1 and 0.3: max(0.015, 0.04) + max(0.135, 0.04) = 0.175, so 4.6 · 0.41833 = 1.9243 points.
  const { allowed, difference, agrees } = agreement({ mean: 52, se: 0.1 }, { mean: 50.1, se: 0.3 });
  expect(allowed).toBeCloseTo(1.9243, 4);
  expect(difference).toBeCloseTo(1.9, 12);
  expect(agrees).toBe(true);
  expect(agreement({ mean: 52.1, se: 0.1 }, { mean: 50.1, se: 0.3 }).agrees).toBe(false);
  // Two errors of zero: the binomial floor allows 4.6 · 0.2828.
  expect(agreement({ mean: 50, se: 0 }, { mean: 50, se: 0 }).allowed).toBeCloseTo(1.301, 3);
});

test("the published table has all cells, and the oracle's means that the design names", () => {
  for (const selection of Object.keys(SELECTIONS))
    for (const title of Object.keys(ALGORITHMS))
      for (const domain of DOMAINS) expect(published(selection, title, domain).mean).toBeGreaterThan(0);
  const average = (title: string): string =>
    (DOMAINS.reduce((sum, domain) => sum + published("oracle", title, domain).mean, 0) / 3).toFixed(1);
  expect(["IRM", "VREx", "MMD", "ARM", "ERM"].map(average)).toEqual(["67.7", "67.0", "63.3", "63.2", "57.8"]);
});

/** A run with two evaluations: `early` and `late` are its accuracies on the held-out domain, and validation prefers the first. */
function write(folder: string, title: string, { trial, draw }: { trial: number; draw: number }, late: number): void {
  const heldOut = "-90%";
  const at = (step: number, domain: string, split: "in" | "out", value: number): RunRecord => ({
    ...{ step, model: "current", domain, split, metric: "accuracy", value },
  });
  const records = [0, 100].flatMap((step) =>
    DOMAINS.flatMap((domain) => {
      if (domain !== heldOut) return [at(step, domain, "out", step === 0 ? 0.8 : 0.7)];
      const value = step === 0 ? 0.1 : late;
      return [at(step, domain, "in", value), at(step, domain, "out", value)];
    }),
  );
  const settings = {
    ...{ dataset: "colored-mnist", domains: DOMAINS, testDomains: [heldOut], algorithm: ALGORITHMS[title] },
    ...{ trialSeed: trial, hparamsSeed: draw, fixed: { "data.seed": 100 * trial + draw } },
  };
  writeRun(join(folder, `${title}-${trial}-${draw}`), { settings, records });
}

test("the oracle takes the best last step of the draws, validation the best step, and incomplete cells are not judged", () => {
  inFolder((folder) => {
    for (const trial of [0, 1, 2])
      for (let draw = 0; draw < 20; draw++) {
        write(folder, "ERM", { trial, draw }, 0.2 + draw / 100);
        if (trial < 2) write(folder, "IRM", { trial, draw }, 0.5 + draw / 100);
      }
    const script = join(import.meta.dirname, "../studies/colored-mnist/result.mjs");
    const { stdout, stderr } = spawnSync(process.execPath, [script, folder, "--figure", join(folder, "cells.svg")], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(readFileSync(join(folder, "cells.svg"), "utf8")).toContain(">ERM -90%, oracle</text>");
    const erm = stdout.split("\n").filter((line) => line.startsWith("| ERM "));
    // By validation all draws are equal at the first step: 10 %. By the oracle the last draw: 39 %.
    expect(erm[0]).toContain("10.0 ± 0.0 (10.0 ± 0.1) 0.0, ±1.3: agrees");
    expect(erm[1]).toContain("39.0 ± 0.0 (28.7 ± 0.5) +10.3, ±3.0: **disagrees**");
    expect(stdout).toContain("1 of 1 complete cells disagree (ERM -90%): the tables do not disagree.");
    expect(stdout).toContain("| IRM | 69.0 (58.5 ± 3.3), 40 of 60 runs |");
    expect(stdout).toContain("| IRM | +30.0 | +29.8 | met so far |");
  });
});
