/** The plans of the studies of published numbers: how many runs, and in which order. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pacs } from "../src/data/datasets/pacs.js";
import { inFolder } from "./support/run-folders.js";

const studies = join(import.meta.dirname, "../studies");

/** Two empty files in each class of PACS: planning does not read pictures. */
function writePacs(root: string): void {
  const { domains, classes } = pacs.published!;
  for (const { name: domain } of domains)
    for (const label of classes as readonly string[]) {
      const place = join(root, "PACS", domain, label);
      mkdirSync(place, { recursive: true });
      for (const i of [0, 1]) writeFileSync(join(place, `${i}.jpg`), "");
    }
}

function plan(folder: string, study: string, ...words: string[]): { stdout: string; titles: string[] } {
  const out = join(folder, "sweep");
  const all = [join(studies, study, "plan.mjs"), "--root", folder, "--out", out, ...words];
  const { stdout, stderr } = spawnSync(process.execPath, all, { encoding: "utf8" });
  expect(stderr).toBe("");
  const lines = readFileSync(join(out, "plan.jsonl"), "utf8").trim().split("\n");
  return { stdout, titles: lines.map((line) => (JSON.parse(line) as { name: string }).name.slice(17)) };
}

test("the paper's setting on PACS starts with ERM and ERM-NU of the first trial, and adds nothing when planned again", () => {
  inFolder((folder) => {
    writePacs(folder);
    const words = ["--", "--no-pretrained"];
    const { stdout, titles } = plan(folder, "paper-pacs", ...words);
    expect(stdout).toContain("128 runs in ");
    expect(titles.slice(0, 9)).toEqual([
      ...["art_painting", "cartoon", "photo", "sketch"].map((domain) => `pacs-${domain}-swad+erm-trial0`),
      ...["art_painting", "cartoon", "photo", "sketch"].map((domain) => `pacs-${domain}-swad+erm+nuclear-norm-trial0`),
      "pacs-art_painting-swad+erm-trial1",
    ]);
    expect(titles[47]).toBe("pacs-sketch-mixup+nuclear-norm-trial2");
    expect(titles.at(-1)).toBe("pacs-sketch-miro-trial0");
    expect(plan(folder, "paper-pacs", ...words).stdout).toContain(": 0 of them new");
  });
});
