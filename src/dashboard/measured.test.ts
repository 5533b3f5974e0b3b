import { expect, test } from "vitest";
import { formatRecord, type RunRecord } from "../records/record.js";
import { Measured } from "./measured.js";

const row = (step: number, value: number, more: Partial<RunRecord> = {}): RunRecord => ({
  ...{ step, model: "current", domain: "sketch", split: "in", metric: "accuracy", value },
  ...more,
});

const lines = (records: readonly RunRecord[]): string[] => records.map((record) => formatRecord(record).trimEnd());

test("accuracies and the ranks of the λ figure come back as they were written, and nothing else", () => {
  const kept = [
    row(0, 0.25),
    row(0, 0.5, { domain: "a,b" }), // a comma, as between the parts of a line
    row(0, Number.NaN, { split: "out" }),
    row(100, 1e-7, { model: "swad" }),
    row(100, 3.5, { metric: "stableRank", domain: null, split: "out" }),
    row(100, Number.NEGATIVE_INFINITY, { metric: "centredStableRank", domain: null, split: "out" }),
  ];
  const dropped = [row(100, 0.3, { metric: "loss" }), row(100, 2, { metric: "headNorm", domain: null, split: null })];
  const measured = new Measured();
  // Twice, since a kind that has been seen goes another way.
  expect(measured.add(lines([...kept, ...dropped]))).toBe(true);
  expect(measured.add(lines([...dropped, ...kept]))).toBe(true);
  expect(measured.records()).toEqual([...kept, ...kept]);
  expect(measured.add(lines(dropped))).toBe(false);
});

test("lines that are no records are passed over, also where they look like a known kind", () => {
  const measured = new Measured();
  measured.add(lines([row(0, 0.5)]));
  const [good] = lines([row(100, 0.75)]);
  const bad = [
    ...["", "garbage", "{}", "[1]", '{"step":', ',"value":'],
    good.replace("100", "-1"),
    good.replace("100", "1.5"),
    good.replace("0.75", "null"),
    good.replace("0.75}", "0.75"),
    good.slice(0, -1),
  ];
  expect(measured.add(bad)).toBe(false);
  expect(measured.add([good])).toBe(true);
  expect(measured.records()).toEqual([row(0, 0.5), row(100, 0.75)]);
});

test("the last evaluation's mean accuracy needs every domain", () => {
  const measured = new Measured();
  expect(measured.lastAccuracy(["sketch"], "in")).toBeNull();
  measured.add(lines([row(0, 0.5), row(0, 0.7, { domain: "photo" }), row(300, 0.6)]));
  expect(measured.lastStep).toBe(300);
  expect(measured.lastAccuracy(["sketch"], "in")).toBe(0.6);
  expect(measured.lastAccuracy(["sketch", "photo"], "in")).toBeNull(); // photo only at step 0
  measured.add(lines([row(300, 0.8, { domain: "photo" })]));
  expect(measured.lastAccuracy(["sketch", "photo"], "in")).toBeCloseTo(0.7, 12);
  measured.clear();
  expect(measured.lastStep).toBeNull();
});
