import { join } from "node:path";
import { expect, test } from "vitest";
import {
  nuclearNormOn,
  pacsDomains,
  vlcsDomains,
  writeMadeRun,
  writePacsSweep,
} from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { type NamedFigure, reportFigures } from "./figures.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

function figuresOf(write: (folder: string) => void): NamedFigure[] {
  return inFolder((folder) => {
    write(folder);
    return reportFigures(makeReport(readResults([folder])));
  });
}

/** ERM and Mixup on PACS and VLCS, with and without the penalty. */
function twoMethods(folder: string): void {
  for (const algorithm of ["erm", "mixup"])
    for (const [dataset, domains] of Object.entries({ pacs: pacsDomains, vlcs: vlcsDomains }))
      for (const heldOut of domains)
        for (const trial of [0, 1])
          for (const regularizers of [[], nuclearNormOn])
            writeMadeRun(join(folder, algorithm), {
              ...{ dataset, domains, heldOut, trial, regularizers, settings: { algorithm } },
              accuracy: 0.7 + regularizers.length / (algorithm === "erm" ? 50 : 25) + trial / 100,
            });
}

test("what the penalty adds is one figure over datasets and methods, and one for each pair", () => {
  const figures = figuresOf(twoMethods);
  const named = (name: string): string => figures.find((figure) => figure.name === name)!.svg;
  expect(figures.map(({ name }) => name).filter((name) => !name.startsWith("curves-"))).toEqual([
    "improvement",
    "improvement-erm-nu-over-erm",
    "improvement-mixup-nu-over-mixup",
  ]);
  const labels = [...named("improvement").matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(labels).toEqual(expect.arrayContaining(["VLCS", "PACS", "mean over datasets"]));
  expect(labels).toEqual(expect.arrayContaining(["ERM-NU − ERM", "Mixup-NU − Mixup"]));
  // Two markers per dataset, two for the means, and one per legend entry; ERM's at 2 points, Mixup's at 4.
  const marks = [...named("improvement").matchAll(/<circle cx="([\d.]+)"[^>]* fill="([^"]+)"/g)];
  expect(marks).toHaveLength(2 * 3 + 2);
  const [[, erm, blue], [, mixup, orange]] = marks;
  expect(blue).not.toBe(orange);
  expect(Number(mixup)).toBeGreaterThan(Number(erm));
});

test("no two figures have the same name", () => {
  const names = figuresOf((folder) => {
    writePacsSweep(folder);
    for (const heldOut of ["a b", "a-b"])
      writeMadeRun(folder, { dataset: "own", domains: ["a b", "a-b"], heldOut, trial: 0, accuracy: 0.5 });
  }).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["curves-own-a-b", "curves-own-a-b-2"]));
  expect(new Set(names).size).toBe(names.length);
});
