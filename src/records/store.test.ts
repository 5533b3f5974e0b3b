import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { DataError } from "../errors.js";
import { formatRecord, type RunRecord, toRecord } from "./record.js";
import { cutRecords, RecordStore, readRecords } from "./store.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-records-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const newFile = (): string => join(folder, `${files++}.jsonl`);

const row = (step: number, value: number, more: Partial<RunRecord> = {}): RunRecord => ({
  step,
  model: "current",
  domain: "sketch",
  split: "in",
  metric: "accuracy",
  value,
  ...more,
});

const someRows = [row(0, 0.1), row(0, 0.25, { domain: null, split: null, metric: "loss" }), row(300, 1 / 3)];

function written(rows: readonly RunRecord[]): string {
  const path = newFile();
  new RecordStore(path).append(rows);
  return path;
}

test("a record is a line with its keys in the documented order", () => {
  expect(formatRecord(row(300, 0.81))).toBe(
    '{"step":300,"model":"current","domain":"sketch","split":"in","metric":"accuracy","value":0.81}\n',
  );
});

test("records are read back as they were written, with every bit of the numbers", () => {
  const path = newFile();
  const store = new RecordStore(path);
  store.append(someRows.slice(0, 1));
  store.append([]);
  store.append(someRows.slice(1));
  expect(readRecords(path)).toEqual({ records: someRows, notes: [] });
});

test("numbers that JSON does not have are read back as well", () => {
  const rows = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((value) => row(1, value));
  expect(readRecords(written(rows)).records).toEqual(rows);
});

test("half a line at the end is dropped and reported, and earlier lines stay", () => {
  const path = written(someRows);
  const whole = readFileSync(path);
  const lastLine = whole.lastIndexOf("\n", whole.length - 2) + 1;
  for (let length = lastLine + 1; length < whole.length - 1; length++) {
    writeFileSync(path, whole.subarray(0, length));
    const { records, notes } = readRecords(path);
    expect(records).toEqual(someRows.slice(0, -1));
    expect(notes).toEqual([`${path}: the last line is torn, as after a kill or on a full disk; it was dropped`]);
  }
});

test("a last line that lacks only its newline is whole", () => {
  const path = written(someRows);
  writeFileSync(path, readFileSync(path, "utf8").trimEnd());
  expect(readRecords(path)).toEqual({ records: someRows, notes: [] });
  // Cutting puts the newline back, so that the next append starts a line.
  expect(cutRecords(path, 300)).toEqual({ kept: 3, dropped: 0, torn: false });
  expect(readFileSync(path, "utf8")).toBe(someRows.map(formatRecord).join(""));
});

test("foreign and damaged lines are skipped and reported by number", () => {
  const path = written(someRows);
  writeFileSync(path, `{"step":-1}\nnot json\n${readFileSync(path, "utf8")}[]\n`);
  const { records, notes } = readRecords(path);
  expect(records).toEqual(someRows);
  expect(notes.join("\n")).toContain("1 line is not JSON and was skipped (line 2)");
  expect(notes.join("\n")).toContain("line 1: step is -1, not a count; line 6: it is not a record");
});

test.each([
  [{ step: 1.5 }, "step is 1.5"],
  [{ model: "" }, 'model is ""'],
  [{ domain: 3 }, "domain is 3"],
  [{ split: "test" }, 'split is "test"'],
  [{ metric: undefined }, "metric is missing"],
  [{ value: "0.5" }, 'value is "0.5"'],
  [{ value: null }, "value is null"],
])("a line with %o is not a record", (wrong, words) => {
  expect(toRecord({ ...row(0, 1), ...wrong })).toContain(words);
});

test("cutting back keeps the rows up to a step, byte for byte, and appending goes on as if nothing had been", () => {
  const rows = [0, 0, 100, 100, 200, 200].map((step, i) => row(step, i / 7));
  const whole = readFileSync(written(rows), "utf8");
  const path = written(rows);
  appendFileSync(path, '{"step":300,"mod');
  expect(cutRecords(path, 100)).toEqual({ kept: 4, dropped: 2, torn: true });
  new RecordStore(path).append(rows.slice(4));
  expect(readFileSync(path, "utf8")).toBe(whole);
});

test("cutting nothing leaves the file alone; a missing file is an empty one; −1 empties it", () => {
  const path = written(someRows);
  const before = readFileSync(path);
  expect(cutRecords(path, 300)).toEqual({ kept: 3, dropped: 0, torn: false });
  expect(readFileSync(path)).toEqual(before);
  expect(cutRecords(newFile(), 5)).toEqual({ kept: 0, dropped: 0, torn: false });
  expect(cutRecords(path, -1)).toEqual({ kept: 0, dropped: 3, torn: false });
  expect(readFileSync(path, "utf8")).toBe("");
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});

test("a file with a damaged line in the middle is not cut: the error names the line and nothing changes", () => {
  const path = written(someRows);
  const text = `${readFileSync(path, "utf8")}garbage\n${formatRecord(row(400, 1))}`;
  writeFileSync(path, text);
  expect(() => cutRecords(path, 0)).toThrow(DataError);
  expect(() => cutRecords(path, 0)).toThrow("line 4 is not JSON");
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("what comes after the rows that a checkpoint counts may be anything, as after a power cut", () => {
  const path = written(someRows);
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, `${whole}\0\0\0\0\n${formatRecord(row(400, 1))}{"ste`);
  expect(cutRecords(path, 300, 3)).toEqual({ kept: 3, dropped: 1, torn: true });
  expect(readFileSync(path, "utf8")).toBe(whole);
  writeFileSync(path, whole.replace("{", "\0"));
  expect(() => cutRecords(path, 300, 3)).toThrow("line 1 is not JSON");
});

test("an append that fails names the file and leaves nothing behind", () => {
  expect(() => new RecordStore(join(folder, "none", "records.jsonl")).append(someRows)).toThrow(
    /none\/records\.jsonl: 3 records could not be added: ENOENT.*untouched/,
  );
});

test("an append goes to a plain file only, not through a link or to a device", () => {
  const [target, link] = ["target", "link"].map((name) => join(folder, name));
  writeFileSync(target, "before\n");
  symlinkSync(target, link);
  expect(() => new RecordStore(link).append(someRows)).toThrow(`${link}: expected a plain file, found a symbolic link`);
  expect(() => new RecordStore("/dev/null").append(someRows)).toThrow(
    "/dev/null: expected a plain file, found a device",
  );
  expect(readFileSync(target, "utf8")).toBe("before\n");
});
