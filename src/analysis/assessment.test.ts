import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { assessmentOf, heldOutTogether, readAssessment, summedConfusion } from "./assessment.js";
import { calibration } from "./calibration.js";
import { type Judged, judge } from "./judged.js";

const classes = ["cat", "dog"];

/** A picture the model gives `logit` more to dog than to cat. */
const picture = (domain: string, i: number, label: number, logit: number): Judged =>
  judge([0, logit], { name: `${domain}/${classes[label]}/${i}.png`, domain, label });

const shop = [picture("shop", 0, 0, -2), picture("shop", 1, 0, 3), picture("shop", 2, 1, 1)];
const street = [picture("street", 0, 1, -4), picture("street", 1, 1, 2)];
const of = (pictures: Judged[], heldOut: string[]) =>
  assessmentOf(pictures, { model: "current", step: 7, classes, heldOut });

test("domains are marked as held out or not", () => {
  const { domains, mostWrong } = of([...shop, ...street], ["street"]);
  expect(domains.map(({ name, part, count, right }) => ({ name, part, count, right }))).toEqual([
    { name: "shop", part: "validation", count: 3, right: 2 },
    { name: "street", part: "held out", count: 2, right: 1 },
  ]);
  expect(domains[0].confusion).toEqual([
    [1, 1],
    [0, 1],
  ]);
  expect(mostWrong.map(({ path, part, label, predicted }) => [path, part, label, predicted])).toEqual([
    ["street/dog/0.png", "held out", "dog", "cat"],
    ["shop/cat/1.png", "validation", "cat", "dog"],
  ]);
  expect(mostWrong[0].confidence).toBeCloseTo(1 / (1 + Math.exp(-4)), 12);
});

test("without a held-out domain there is no held-out result", () => {
  const { calibration: measured, domains } = of(shop, []);
  expect(Object.keys(measured)).toEqual(["validation"]);
  expect(domains.every(({ part }) => part === "validation")).toBe(true);
});

test("the held-out parts of several runs make one assessment, calibrated as all their pictures together", () => {
  const runs = [of([...shop, ...street], ["street"]), of([...street, ...shop], ["shop"])];
  const together = heldOutTogether(runs);
  expect(together.domains.map(({ name, part }) => `${name} ${part}`)).toEqual(["street held out", "shop held out"]);
  const { bins, ...direct } = calibration([...street, ...shop]);
  const { bins: ours, ...numbers } = together.calibration["held out"]!;
  for (const name of ["ece", "worst", "overconfidence"] as const) expect(numbers[name]).toBeCloseTo(direct[name], 12);
  expect(ours.map(({ count }) => count)).toEqual(bins.map(({ count }) => count));
  expect(together.mostWrong.map(({ path }) => path)).toEqual(["street/dog/0.png", "shop/cat/1.png"]);
  expect(summedConfusion(together.domains, 2)).toEqual([
    [1, 1],
    [1, 2],
  ]);
});

test("an assessment survives JSON, and invalid data are refused with their path", () => {
  const path = join(temporaryFolder(), "assessment.json");
  const assessment = of([...shop, ...street], ["street"]);
  writeFileSync(path, JSON.stringify(assessment));
  expect(readAssessment(path)).toEqual(assessment);
  for (const [other, wrong] of [
    [{ format: 2 }, "the assessment of a run in format 2, and this version of NUDGE reads formats up to 1"],
    [{ ...assessment, domains: [null] }, 'expected "domains.0" to be a domain, got null'],
    [{ ...assessment, domains: [{ name: "a" }] }, '"domains.0.part" is missing'],
  ] as const) {
    writeFileSync(path, JSON.stringify(other));
    expect(() => readAssessment(path)).toThrow(path);
    expect(() => readAssessment(path)).toThrow(wrong);
  }
  writeFileSync(path, "{");
  expect(() => readAssessment(path)).toThrow(`${path}: the assessment of a run could not be read`);
});
