import { join } from "node:path";
import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains, vlcsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { reportFigures } from "./figures.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

/** ERM and ERM-NU with these weights: ERM has 0.5 on PACS and 0.7 on VLCS, and a weight adds itself. */
const reportOf = (weights: Readonly<Record<string, readonly number[]>>): Report =>
  inFolder((folder) => {
    for (const [dataset, domains] of Object.entries({ pacs: pacsDomains, vlcs: vlcsDomains }))
      for (const weight of [0, ...weights[dataset]])
        for (const heldOut of domains) {
          const accuracy = (dataset === "pacs" ? 0.5 : 0.7) + weight;
          const settings = { ...nuclearNormOn[0].settings, weight };
          writeMadeRun(join(folder, String(weight)), {
            ...{ dataset, domains, heldOut, trial: 0, accuracy },
            regularizers: weight === 0 ? [] : [{ ...nuclearNormOn[0], settings }],
            settings: { algorithm: "erm", fixed: weight === 0 ? {} : { "nuclear-norm.weight": weight } },
          });
        }
    return makeReport(readResults([folder]));
  });

test("over several datasets there is the average of their studies, with the weights that all of them have", () => {
  const report = reportOf({ pacs: [0.01, 0.03, 0.1], vlcs: [0.03, 0.1] });
  expect(report.weights.map(({ title }) => title)).toEqual([
    ...["ERM on VLCS", "ERM on PACS", "ERM, mean over VLCS, PACS"],
  ]);
  const average = report.weights.at(-1)!;
  expect(average.domains).toEqual(["VLCS", "PACS"]);
  expect(average.baseline!.accuracy).toBeCloseTo(0.6, 12);
  const [{ settings }] = average.kinds;
  expect(settings.map(({ weight }) => weight)).toEqual([0.03, 0.1]);
  expect(settings.map(({ accuracy }) => accuracy)).toEqual([expect.closeTo(0.63, 12), expect.closeTo(0.7, 12)]);
  expect(settings[1].difference).toMatchObject({ mean: expect.closeTo(0.1, 12), interval: null });
  expect(toMarkdown(report)).toMatch(/^\| nuclear-norm +\| +0\.1 \|.* 80\.0 \| +60\.0 \| +70\.0 \| +\+10\.0 \|/m);
  const figure = reportFigures(report).find(({ name }) => name === "weight-erm-mean-over-vlcs-pacs");
  expect(figure?.svg).toContain("Held-out accuracy");
});

test("one common weight is no study", () => {
  expect(reportOf({ pacs: [0.01, 0.03], vlcs: [0.03, 0.1] }).weights).toHaveLength(2);
});
