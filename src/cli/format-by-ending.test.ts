import { expect, test } from "vitest";
import { formatFor } from "./format-by-ending.js";

const formats = { known: ["table", "csv", "jsonl"], usual: "table" } as const;

test("a file is written in the format that its name ends in", () => {
  expect(formatFor({ ...formats, file: "new clinic/rows.csv" })).toBe("csv");
  expect(formatFor({ ...formats, file: "ROWS.JSONL" })).toBe("jsonl");
});

test("a format that was asked for goes before the name, and without either it is the usual one", () => {
  expect(formatFor({ ...formats, asked: "jsonl", file: "rows.csv" })).toBe("jsonl");
  expect(formatFor({ ...formats, file: "rows.txt" })).toBe("table");
  expect(formatFor({ ...formats, file: "csv" })).toBe("table");
  expect(formatFor(formats)).toBe("table");
});
