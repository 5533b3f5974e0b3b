import { expect, test } from "vitest";
import { csvLine, parseCsv } from "./manifest-csv.js";

test("fields are read as they were written, whatever is in them", () => {
  const rows = [
    ["plain", "with, comma", 'with "quotes"'],
    ["@home", "-x", "=1+1"],
    [" spaces ", "two\nlines", "\r\n"],
    ["\x1b[31m\u202e", "", " "],
    ["\ufeffmark", '"', "頭 🐕"],
  ];
  expect(parseCsv(rows.map(csvLine).join(""), "x.csv").map(({ fields }) => fields)).toEqual(rows);
});
