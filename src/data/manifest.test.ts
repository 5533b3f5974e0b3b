import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { parseManifest, readManifest } from "./manifest.js";
import { parseCsv } from "./manifest-csv.js";
import { openDataset } from "./open-dataset.js";

test("CSV has quotes, doubled quotes, commas, line breaks and either line end, and records know their line", () => {
  const text = '\ufeffa,b\r\n"1,5","say ""hi"""\n\n"two\nlines",x\r\n,\n"",last';
  expect(parseCsv(text, "x.csv")).toEqual([
    { line: 1, fields: ["a", "b"] },
    { line: 2, fields: ["1,5", 'say "hi"'] },
    { line: 4, fields: ["two\nlines", "x"] },
    { line: 6, fields: ["", ""] },
    { line: 7, fields: ["", "last"] },
  ]);
  expect(parseCsv("a,\nb,", "x.csv").map(({ fields }) => fields)).toEqual([
    ["a", ""],
    ["b", ""],
  ]);
  expect(parseCsv("", "x.csv")).toEqual([]);
});

test("CSV that is ambiguous is an error with its line", () => {
  expect(() => parseCsv('a\n"never closed\n', "x.csv")).toThrow("x.csv, line 2: a quoted field is never closed");
  expect(() => parseCsv('a\n"x"y\n', "x.csv")).toThrow("x.csv, line 2: text after a closing quote");
  expect(() => parseCsv('a\n\nx"y\n', "x.csv")).toThrow("x.csv, line 3: a quote inside an unquoted field");
});

test("columns can be in any order, unknown ones are reported, and splits have several names", () => {
  const { entries, notes } = parseManifest(
    "Domain,label,size,path,split\nd,cat,3,./a.png,train\nd,dog,4,b.png,VAL\n",
    "x.csv",
  );
  expect(entries).toEqual([
    { line: 2, path: "a.png", label: "cat", domain: "d", split: "in" },
    { line: 3, path: "b.png", label: "dog", domain: "d", split: "out" },
  ]);
  expect(notes).toEqual(['columns not used: "size"']);
});

test("JSONL says the same, with numbers as labels", () => {
  const text = '{"path":"a.png","label":3,"domain":"d"}\r\n\n{"path":"b.png","label":"x","domain":"d","note":[1]}\n';
  const { entries, notes } = parseManifest(text, "x.jsonl");
  expect(entries).toEqual([
    { line: 1, path: "a.png", label: "3", domain: "d" },
    { line: 3, path: "b.png", label: "x", domain: "d" },
  ]);
  expect(notes).toEqual(['columns not used: "note"']);
});

test.each([
  ["x.csv", "", /it is empty; expected a header line/],
  ["x.csv", "path,label\n", /it lists no pictures/],
  ["x.csv", "file,label\na,b\n", /line 1: expected a header .* "path" is missing \(got "file", "label"\)/],
  ["x.csv", "path,label,label\n", /line 1: column "label" appears twice/],
  ["x.csv", "path,label\na,b\nc\n", /line 3: expected 2 fields as in the header, got 1/],
  ["x.csv", "path,label\n,b\n", /line 2: expected a path, got none/],
  ["x.csv", "path,label\na,\n", /line 2: expected a label, got none/],
  ["x.csv", "path,label,domain\na,b,c\nd,e,\n", /line 3: expected a domain, as line 2 has/],
  ["x.csv", "path,label,split\na,b,trian\n", /line 2: unknown split "trian": did you mean "train"\?/],
  ["x.csv", "path,label\na.png,b\n./a.png,c\n", /line 3: "a\.png" is already on line 2; list each picture once/],
  ["x.jsonl", '{"path":"a","label":"b"}\n{"path":', /line 2: expected a JSON object/],
  ["x.jsonl", "[1]\n", /line 1: expected a JSON object with path, label/],
  ["x.jsonl", '{"path":3,"label":"b"}\n', /line 1: expected "path" to be text, got 3/],
])("in %s %j is an error that contains its place", (source, text, message) => {
  expect(() => parseManifest(text, source)).toThrow(message);
  expect(() => parseManifest(text, source)).toThrow(/^manifest x\./);
});

test("a file that is not UTF-8 is an error", () => {
  const file = writeFile(temporaryFolder(), "x.csv", Buffer.from("path,label\ncaf\xe9.png,b\n", "latin1"));
  expect(() => readManifest(file)).toThrow(/could not be read \(it is not UTF-8 text\)$/);
});

test("a dataset from a manifest is ordered as in folders, whatever the order of lines, with the given split", async () => {
  const root = temporaryFolder();
  const pictures = ["a/1.png", "a/2.png", "b/1.png", "b/with, comma.png", "c.png"];
  for (const name of pictures) writeFile(root, name);
  const lines = [
    "c.png,10,south,in",
    '"b/with, comma.png",9,north,out',
    "a/2.png,9,south,in",
    "b/1.png,9,north,in",
    "a/1.png,9,south,out",
  ];
  const file = writeFile(root, "list.csv", `path,label,domain,split\n${lines.join("\n")}\n`);
  const dataset = await openDataset(file);
  expect(dataset).toMatchObject({ id: "manifest", root, hasDomains: true, classes: ["9", "10"] }); // numbers by value
  expect(dataset.domains.map(({ name, files }) => [name, files])).toEqual([
    ["north", ["b/1.png", "b/with, comma.png"]],
    ["south", ["a/1.png", "a/2.png", "c.png"]],
  ]);
  expect(Array.from(dataset.domains[1].labels)).toEqual([0, 0, 1]);
  expect(dataset.givenSplit).toEqual(
    new Map([
      ["north", { in: [0], out: [1], uda: [] }],
      ["south", { in: [1, 2], out: [0], uda: [] }],
    ]),
  );
  expect(dataset.notes).toEqual(['domain "north" has no pictures of 1 class that other domains have: "10"']);
});

test("without a domain column there is one domain, and pictures that are missing are an error with their lines", async () => {
  const root = temporaryFolder();
  writeFile(root, "a.png");
  writeFile(root, "b.png");
  const dataset = await openDataset(
    writeFile(root, "list.jsonl", '{"path":"b.png","label":"x"}\n{"path":"a.png","label":"y"}\n'),
  );
  expect(dataset).toMatchObject({ hasDomains: false, classes: ["x", "y"] });
  expect(dataset.domains).toMatchObject([{ name: "all", files: ["b.png", "a.png"] }]);
  expect(dataset.givenSplit).toBeUndefined();
  const bad = writeFile(root, "bad.csv", "path,label\na.png,x\ngone.png,y\nalso\\gone.png,y\na.png/x.png,y\n");
  await expect(openDataset(bad)).rejects.toThrow(
    /bad\.csv: 3 pictures of 4 not found \(line 3: "gone\.png", line 4: "also\\gone\.png", line 5: "a\.png\/x\.png"\); paths start from the manifest's folder$/,
  );
});
