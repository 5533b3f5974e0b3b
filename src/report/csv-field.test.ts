import { expect, test } from "vitest";
import { csvField } from "./csv.js";

test("a field is quoted where it must be, and neither a formula nor a control character gets out", () => {
  expect(csvField('a, "b"')).toBe('"a, ""b"""');
  expect(csvField("=1+1")).toBe(" =1+1");
  expect(csvField("-0.5")).toBe("-0.5");
  expect(csvField("dog\x1b[31m")).toBe("dog\\u{1b}[31m");
});
