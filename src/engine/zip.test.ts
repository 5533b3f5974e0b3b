import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { temporaryFiles, uint, type ZipOptions, zip } from "../../tests/assemble-files.js";
import { DataError } from "../errors.js";
import { SourceFile } from "../files/file-bytes.js";
import { locateZipEntry, readZip } from "./zip.js";

const file = temporaryFiles();
const entries = [
  ["one", Buffer.from("first")],
  ["folder/two", Buffer.from("second")],
] as const;

function contents(bytes: Uint8Array): Record<string, string> {
  const source = SourceFile.open(file(bytes));
  try {
    const archive = readZip(source);
    const read = [...archive.entries.values()].map((entry) => {
      const { offset, byteLength } = locateZipEntry(archive, entry);
      return [entry.name, source.read(offset, byteLength, "an entry").toString("latin1")];
    });
    return Object.fromEntries(read);
  } finally {
    source.close();
  }
}

const expected = { one: "first", "folder/two": "second" };

test.each<[string, ZipOptions]>([
  ["plain", {}],
  ["zip64", { zip64: true }],
  ["commented", { comment: "made by hand" }],
  ["zip64 and commented, by what looks like the end record", { zip64: true, comment: "PK\x05\x06".padEnd(40, "\0") }],
])("a %s archive gives its entries where they lie", (_, options) => {
  expect(contents(zip(entries, options))).toEqual(expected);
});

test("an empty archive is read", () => {
  expect(contents(zip([]))).toEqual({});
});

test("an archive that PyTorch wrote gives its entries, aligned to 64 bytes", () => {
  const path = new URL("../../tests/vectors/pth/zip.pth", import.meta.url).pathname;
  const source = SourceFile.open(path);
  const archive = readZip(source);
  const names = [...archive.entries.keys()];
  expect(names.slice(0, 2)).toEqual(["archive/data.pkl", "archive/data/0"]);
  for (const entry of archive.entries.values()) expect(locateZipEntry(archive, entry).offset % 64).toBe(0);
  source.close();
  expect(contents(readFileSync(path))["archive/version"]).toBe("3\n");
});

/** Returns the archive with `width` bytes at `at` (relative to the first `marker`) replaced. */
function patched(
  marker: string,
  at: number,
  width: 1 | 2 | 4 | 8,
  value: number | bigint,
  options?: ZipOptions,
): Buffer {
  const bytes = zip(entries, options);
  uint(width, value).copy(bytes, bytes.indexOf(marker, 0, "latin1") + at);
  return bytes;
}

test.each<[string, Uint8Array, RegExp]>([
  ["deflated entry", zip(entries, { method: 8 }), /"one" is deflated; .* zip -0/],
  ["otherwise compressed entry", zip(entries, { method: 93 }), /compressed by method 93/],
  ["encrypted entry", zip(entries, { flags: 1 }), /encrypted/],
  ["entry that appears twice", zip([entries[0], entries[0]]), /"one" appears twice/],
  ["entry with another name in its own header", zip(entries, { localName: "other" }), /another name/],
  ["entry of two lengths", patched("PK\x01\x02", 20, 4, 4), /two lengths/],
  ["entry whose header is elsewhere", patched("PK\x01\x02", 42, 4, 1), /does not begin where/],
  ["entry beyond the file", patched("PK\x01\x02", 42, 4, 0xfffffffe), /but the file has/],
  ["entry that reaches into the directory", patched("PK\x03\x04", 28, 2, 0xffff), /past the archive's data/],
  ["cut directory", patched("PK\x05\x06", 12, 4, 20), /broken at its entry 0/],
  ["name longer than the directory", patched("PK\x01\x02", 28, 2, 0xffff), /broken at its entry 0/],
  ["more entries announced than there are", patched("PK\x05\x06", 10, 2, 3), /broken at its entry 2/],
  ["directory beyond the end record", patched("PK\x05\x06", 16, 4, 0xffff), /past its end record/],
  ["zip64 field that is missing", patched("PK\x01\x02", 20, 4, 0xffffffff), /broken at its entry 0/],
  ["zip64 record beyond the file", patched("PK\x06\x07", 8, 8, 2n ** 50n, { zip64: true }), /but the file has/],
  ["zip64 record beyond every file", patched("PK\x06\x07", 8, 8, 2n ** 64n - 1n, { zip64: true }), /beyond every file/],
  ["zip64 record that is none", patched("PK\x06\x07", 8, 8, 0, { zip64: true }), /not where it should be/],
  ["endless zip64 count", patched("PK\x06\x06", 32, 8, 2n ** 52n, { zip64: true }), /broken at its entry 2/],
  ["huge zip64 directory", patched("PK\x06\x06", 40, 8, 2n ** 40n, { zip64: true }), /past its end record/],
  ["name that is no UTF-8", patched("PK\x01\x02", 46, 1, 0xff), /not valid UTF-8/],
  ["missing end", zip(entries).subarray(0, -1), /download complete/],
  ["text after its end", Buffer.concat([zip(entries), Buffer.from("x")]), /download complete/],
])("an archive with a %s is refused", (_, bytes, message) => {
  expect(() => contents(bytes)).toThrow(DataError);
  expect(() => contents(bytes)).toThrow(message);
});
