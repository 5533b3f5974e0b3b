import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DataError } from "../errors.js";
import { splitDataset, splitHash, splitToJson } from "./split.js";
import { type ListedDomain, parseSplit, readSplitFile } from "./split-file.js";

const photo: ListedDomain = {
  name: "photo",
  count: 3,
  paths: ["photo/cat/1.jpg", "photo/dog/1.jpg", "photo/dog/2.jpg"],
};
const drawn: ListedDomain = { name: "drawn", count: 3 };
const whole = { photo: { in: [0, 1], out: [2] }, drawn: { in: [2, 0], out: [1] } };

function temporaryFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "nudge-split-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "split.json"), text);
  return join(folder, "split.json");
}

test("a split written as plain data reads back as itself, with the same hash and no notes", () => {
  const split = splitDataset([photo, { ...drawn, count: 40 }], {
    trialSeed: 1,
    testDomains: ["drawn"],
    holdout: 0.4,
    uda: 0.3,
  });
  const file = temporaryFile(JSON.stringify(splitToJson(split)));
  const read = readSplitFile(file, [photo, { ...drawn, count: 40 }]);
  expect(read.split).toEqual(split);
  expect(splitHash(read.split)).toBe(splitHash(split));
  expect(read.notes).toEqual([]);
});

test("a picture may be named by place, by the dataset's path, from its domain on, or in Windows' way", () => {
  const named = { in: ["photo/dog/2.jpg", "./cat/1.jpg"], out: ["dog\\1.jpg"] };
  const { split } = parseSplit({ ...whole, photo: named }, [photo, drawn], "x.json");
  expect(split.get("photo")).toEqual({ in: [2, 0], out: [1], uda: [] });
  expect(splitHash(split)).toBe(
    splitHash(parseSplit({ ...whole, photo: { in: [2, 0], out: [1] } }, [photo, drawn], "").split),
  );
});

test("the order of the pictures and of the dataset's domains is kept, whatever the file's order of domains", () => {
  const { split } = parseSplit({ drawn: whole.drawn, photo: whole.photo }, [photo, drawn], "x.json");
  expect([...split.keys()]).toEqual(["photo", "drawn"]);
  expect(split.get("drawn")?.in).toEqual([2, 0]);
});

test("pictures in no part and an empty out part are noted", () => {
  const { notes } = parseSplit({ ...whole, photo: { in: [0], out: [] } }, [photo, drawn], "x.json");
  expect(notes).toEqual([
    'split file x.json, domain "photo": 2 of 3 pictures are in no part and will not be used',
    'split file x.json, domain "photo": "out" is empty, so nothing of this domain can be validated on',
  ]);
});

test.each<[string, unknown, string]>([
  ["a list at the top", [], 'split file x.json: expected an object, domain → {"in": […], "out": […]}, at the top'],
  ["null", null, "split file x.json: expected an object"],
  [
    "an unknown domain",
    { ...whole, foto: {} },
    'split file x.json: unknown domain "foto": did you mean "photo"? (known: drawn, photo)',
  ],
  ["a missing domain", { photo: whole.photo }, 'split file x.json: expected domains photo, drawn; "drawn" is missing'],
  ["a domain that is a list", { ...whole, photo: [1] }, 'domain "photo": expected {"in": […], "out": […]}, got [1]'],
  ["a missing part", { ...whole, photo: { in: [0] } }, 'domain "photo": expected "in" and "out"; "out" is missing'],
  ["an unknown part", { ...whole, photo: { ...whole.photo, test: [] } }, 'domain "photo": unknown part "test" (known'],
  [
    "a part that is no list",
    { ...whole, photo: { in: "all", out: [] } },
    'expected "in" to be a list of pictures, got "all"',
  ],
  [
    "a part that is null",
    { ...whole, photo: { in: null, out: [] } },
    'expected "in" to be a list of pictures, got null',
  ],
  ["a place too high", { ...whole, photo: { in: [3], out: [] } }, '"in" has picture 3, but they are numbered 0 to 2'],
  ["a negative place", { ...whole, photo: { in: [-1], out: [] } }, '"in" has picture -1, but they are numbered 0 to 2'],
  ["half a place", { ...whole, photo: { in: [0.5], out: [] } }, 'expected paths or places in "in", got 0.5'],
  [
    "an unknown path",
    { ...whole, photo: { in: ["dog/3.jpg"], out: [] } },
    '"in" has "dog/3.jpg", which is not a picture of this domain (its pictures have paths like "photo/cat/1.jpg")',
  ],
  [
    "a path where there are none",
    { ...whole, drawn: { in: ["dog/3.jpg"], out: [] } },
    '"in" has the path "dog/3.jpg", but this dataset\'s pictures have no paths; use their places, from 0',
  ],
  [
    "a picture in both parts, by different names",
    { ...whole, photo: { in: [1], out: ["dog/1.jpg"] } },
    'split file x.json, domain "photo": "dog/1.jpg" is in both "in" and "out"; name each picture once',
  ],
  ["a picture twice", { ...whole, photo: { in: [1, 1], out: [] } }, '1 is twice in "in"; name each picture once'],
])("%s is refused in words", (_, value, message) => {
  const parse = () => parseSplit(value, [photo, drawn], "x.json");
  expect(parse).toThrow(DataError);
  expect(parse).toThrow(message);
});

test("a long wrong value is cut short in the message", () => {
  const value = { ...whole, photo: Array.from({ length: 10_000 }, () => "x") };
  expect(() => parseSplit(value, [photo, drawn], "x.json")).toThrow(/^.{1,200}$/);
});

test("a domain named like a property of every object is an ordinary name", () => {
  const odd: ListedDomain = { name: "constructor", count: 1 };
  expect(() => parseSplit({}, [odd], "x.json")).toThrow('"constructor" is missing');
  const value = JSON.parse('{"__proto__": {"in": [0], "out": []}}');
  expect(parseSplit(value, [{ name: "__proto__", count: 1 }], "x.json").split.get("__proto__")?.in).toEqual([0]);
});

test("a file that is missing, or not JSON, is named in the error", () => {
  expect(() => readSplitFile("/nowhere/split.json", [photo])).toThrow(
    /^split file \/nowhere\/split.json: could not be read/,
  );
  const file = temporaryFile('{"photo": {');
  expect(() => readSplitFile(file, [photo])).toThrow(`split file ${file}: expected JSON (`);
});
