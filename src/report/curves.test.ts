import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { reportFigures } from "./figures.js";
import { toHtml } from "./html.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

const ALGORITHMS = ["erm", "irm", "vrex", "mtl", "sam", "coral", "mmd", "rsc"];
const TITLES = ["ERM", "MMD", "IRM", "VREx", "RSC", "MTL", "CORAL", "SAM"];

const reportOn = (curves?: string[], algorithms = ALGORITHMS): Report =>
  inFolder((folder) => {
    for (const [i, algorithm] of algorithms.entries())
      for (const trial of [0, 1])
        writeMadeRun(join(folder, algorithm), {
          ...{ heldOut: "sketch", trial, accuracy: 0.5 + i / 50 + trial / 100, settings: { algorithm } },
        });
    return makeReport(readResults([folder]), { curves, only: ["curves"] });
  });

const svgOf = (report: Report): string => reportFigures(report).find(({ name }) => name === "curves-pacs-sketch")!.svg;

test("of more methods than colours every one is drawn, each in a panel of its own on the same axes", () => {
  const report = reportOn();
  const svg = svgOf(report);
  for (const title of TITLES) expect(svg).toContain(`<title>${title}</title>`);
  expect(svg).toContain("PACS, sketch held out (dashed: training domains; grey: ERM)");
  const panels = svg
    .split("<svg x=")
    .slice(1)
    .filter((part) => part.includes("<title>"));
  expect(panels).toHaveLength(TITLES.length);
  const labels = panels.map((panel) => (panel.match(/font-size="11"[^>]*>[^<]*/g) ?? []).join());
  expect(new Set(labels).size).toBe(1);
  expect(toHtml(report)).toContain("The figure shows all 8 methods");
});

test("a few share one chart with a colour each", () => {
  const svg = svgOf(reportOn(undefined, ALGORITHMS.slice(0, 6)));
  expect(svg).not.toContain("grey:");
  expect(svg).toContain(">CORAL, training domains<");
});

test("methods are chosen by name, and figure and page say which and of how many", () => {
  const report = reportOn(["sam", "ERM"]);
  const svg = svgOf(report);
  expect(svg).toContain("PACS, sketch held out: 2 of 8 methods");
  expect(svg).toContain(">SAM<");
  expect(svg).not.toContain(">IRM<");
  expect(toHtml(report)).toContain("The figure shows SAM, ERM, out of 8 methods");
  expect(() => reportOn(["SMA"])).toThrow('did you mean "SAM"?');
});

test("domains that no run held out have no figure", () => {
  expect(reportFigures(reportOn()).map(({ name }) => name)).toEqual(["curves-pacs-sketch"]);
});
