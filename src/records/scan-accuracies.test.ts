import { expect, test } from "vitest";
import { accuraciesAt, somePacsSettings } from "../../tests/support/run-folders.js";
import { evaluationsOf } from "./evaluated-run.js";
import { formatRecord, type RunRecord } from "./record.js";
import type { RunSettings } from "./run.js";
import { AccuracyScan, type PackedAccuracies, unpack } from "./scan-accuracies.js";

const settings = somePacsSettings;
const textOf = (records: readonly RunRecord[]): string => records.map(formatRecord).join("");
const scanAccuracies = (
  text: string,
  { domains, testDomains }: Pick<RunSettings, "domains" | "testDomains">,
): Map<string, PackedAccuracies> | undefined => new AccuracyScan(domains).add(text).packed(testDomains);
const loss = (step: number): RunRecord => ({
  step,
  model: "current",
  domain: null,
  split: null,
  metric: "loss",
  value: 0.5,
});

test("what is scanned is what the careful reader finds: models, steps in the order of the file, parts, the last of two rows", () => {
  const records = [
    ...accuraciesAt(300, 0.5),
    loss(300),
    ...accuraciesAt(0, 0.25),
    ...accuraciesAt(0, 0.75, { model: "swad" }),
    { ...accuraciesAt(0, 0)[3], value: 0.125 },
    { ...loss(0), domain: "photo", split: "uda" as const, metric: "accuracy" },
    { ...loss(0), domain: "nowhere", split: "in" as const, metric: "accuracy" },
  ];
  const scanned = scanAccuracies(textOf(records), settings)!;
  const known = evaluationsOf(records.filter(({ domain }) => domain !== "nowhere"));
  expect([...scanned.keys()]).toEqual([...known.keys()]);
  for (const [model, packed] of scanned) expect(unpack(packed, settings.domains)).toEqual(known.get(model));
});

test("a part of a training domain that was not evaluated stays missing", () => {
  const records = accuraciesAt(0, 0.5).filter(({ domain, split }) => domain === "sketch" || split === "out");
  const [evaluation] = unpack(scanAccuracies(textOf(records), settings)!.get("current")!, settings.domains);
  expect(evaluation.accuracy.get("photo")).toEqual({ in: undefined, out: 0.26 });
});

test.each([
  ["a torn last line", (text: string) => text.slice(0, -5)],
  ["a line that is no record", (text: string) => `${text}hello\n`],
  ["a damaged loss", (text: string) => text.replace('"loss"', '"lo"ss"')],
  ["an accuracy that is no number", (text: string) => text.replace(/"value":[\d.]+/, '"value":"NaN"')],
  ["keys in another order", (text: string) => `${text}{"model":"current","step":0}\n`],
  [
    "an evaluation without an accuracy that selection needs",
    (text: string) => text.replace('"out","metric":"accuracy"', '"out","metric":"other"'),
  ],
])("%s is passed to the careful reader", (_what, damage) => {
  const text = textOf([...accuraciesAt(0, 0.5), loss(0)]);
  expect(scanAccuracies(text, settings)).toBeDefined();
  expect(scanAccuracies(damage(text), settings)).toBeUndefined();
});

test("what is added in pieces is what is read at once", () => {
  const [first, second] = [textOf(accuraciesAt(0, 0.5)), textOf([...accuraciesAt(300, 0.25), loss(300)])];
  const scan = new AccuracyScan(settings.domains).add(first);
  expect(scan.packed(settings.testDomains)).toEqual(scanAccuracies(first, settings));
  expect(scan.add(second).packed(settings.testDomains)).toEqual(scanAccuracies(first + second, settings));
});

test("lines that are not records are skipped, even if they look like a known kind", () => {
  const row = (step: number, value: number): string =>
    formatRecord({ ...loss(step), domain: "sketch", split: "in", metric: "accuracy", value });
  const good = row(100, 0.75);
  for (const bad of ["", "garbage", "{}", "[1]", '{"step":', ',"value":']
    .map((line) => `${line}\n`)
    .concat(
      good.replace("100", "-1"),
      good.replace("100", "1.5"),
      good.replace("0.75", "null"),
      good.replace("0.75}", "0.75"),
    )) {
    const scan = new AccuracyScan(settings.domains).add(row(0, 0.5) + bad);
    expect([scan.count, scan.lastStep, scan.packed(settings.testDomains)], bad).toEqual([1, 0, undefined]);
    expect(scan.add(good).lastAccuracy(["sketch"], "in")).toBe(0.75);
  }
});

test("the last evaluation's mean accuracy needs every domain", () => {
  const row = (step: number, value: number, domain = "sketch"): string =>
    formatRecord({ ...loss(step), domain, split: "in", metric: "accuracy", value });
  const scan = new AccuracyScan(settings.domains);
  expect([scan.lastStep, scan.lastAccuracy(["sketch"], "in")]).toEqual([null, null]);
  scan.add(row(0, 0.5) + row(0, 0.7, "photo") + row(300, 0.6));
  expect([scan.lastStep, scan.lastAccuracy(["sketch"], "in")]).toEqual([300, 0.6]);
  expect(scan.lastAccuracy(["sketch", "photo"], "in")).toBeNull(); // photo only at step 0
  expect(scan.add(row(300, 0.8, "photo")).lastAccuracy(["sketch", "photo"], "in")).toBeCloseTo(0.7, 12);
});

test("evaluations that repeat a known layout are read as they are line by line, also if some of them are damaged", () => {
  const evaluation = (step: number): string =>
    textOf([loss(step), ...accuraciesAt(step, (step % 700) / 1000), ...accuraciesAt(step, 0.125, { model: "swad" })]);
  const good = [0, 100, 200, 300, 400].map(evaluation);
  const damages: ((text: string) => string)[] = [
    (text) => text,
    (text) => text.replace('"loss"', '"lo"ss"'),
    (text) => text.replace(/"value":[\d.]+/, '"value":1e-3'),
    (text) => text.replace(/("accuracy","value":)[\d.]+/, "$11.5e-2"),
    (text) => text.replace(/("accuracy","value":)[\d.]+/, "$10.5.5"),
    (text) => text.replace(/("accuracy","value":)[\d.]+/, '$1"NaN"'),
    (text) => text.replace(/("accuracy","value":)[\d.]+/, "$1 0.25"),
    (text) => text.replace('"step":', '"step": '),
    (text) => text.replace('"step":', '"step":7'),
    (text) => text.replace(/\n.*\n/, "\n"),
    (text) => text.replace("\n", "\n\n"),
    (text) => text.replace("\n", "\r\n"),
    (text) => text.replace('"current"', '"other"'),
    (text) => `${text}${formatRecord(loss(7))}`,
    (text) => `hello, world\n${text}`,
    (text) => `[${"[".repeat(20_000)}\n${text}`,
  ];
  new AccuracyScan(settings.domains).add(good.join("")); // so that the layout is known
  const result = (texts: readonly string[]) => {
    const scan = new AccuracyScan(settings.domains);
    for (const text of texts) scan.add(text);
    return [scan.count, scan.lastStep, scan.packed(settings.testDomains)];
  };
  for (const damage of damages)
    for (let at = 0; at < good.length; at++) {
      const text = good.with(at, damage(good[at])).join("");
      const lines = text.split("\n").map((line) => `${line}\n`);
      expect(result([text]), text.slice(0, 200)).toEqual(result(lines.slice(0, -1)));
    }
});
