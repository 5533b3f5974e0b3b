import { expect, test } from "vitest";
import { formatFor } from "./format-by-ending.js";

const formats = { known: ["table", "csv", "jsonl"], usual: "table", usualEnding: "txt" } as const;

test("a file is written in the format that its name ends in", () => {
  expect(formatFor({ ...formats, file: "new clinic/rows.csv" })).toBe("csv");
  expect(formatFor({ ...formats, file: "ROWS.JSONL" })).toBe("jsonl");
});

test("a requested format has precedence over the file name, and without either the default is used", () => {
  expect(formatFor({ ...formats, asked: "jsonl", file: "rows.csv" })).toBe("jsonl");
  expect(formatFor({ ...formats, file: "rows.txt" })).toBe("table");
  expect(formatFor({ ...formats, file: "csv" })).toBe("table");
  expect(formatFor(formats)).toBe("table");
});

test("a name that ends in another format is refused, unless the format was requested", () => {
  expect(() => formatFor({ ...formats, file: "rows.xlsx" })).toThrow(
    "rows.xlsx: unknown file ending .xlsx; use a name that ends in .txt, .csv, .jsonl, or choose the format with --format",
  );
  expect(formatFor({ ...formats, asked: "csv", file: "rows.xlsx" })).toBe("csv");
  expect(() => formatFor({ known: ["onnx", "safetensors"], usual: "onnx", file: "model.pt" })).toThrow(
    "use a name that ends in .onnx, .safetensors",
  );
});
