import { expect, test } from "vitest";
import { cleanText } from "./clean-output.js";

test("control characters of names are written out, and text stays", () => {
  expect(cleanText("dog\x1b]0;owned\x07 32 pictures\n")).toBe("dog\\u{1b}]0;owned\\u{7} 32 pictures\n");
  expect(cleanText("a\rb \x1b[2Jc\x1b[31m")).toBe("a\\rb \\u{1b}[2Jc\\u{1b}[31m");
  expect(cleanText("x\u202egnp.exe")).toBe("x\\u{202e}gnp.exe");
  const plain = "Größe ×\t10 … 頭\r\nnext, line\n";
  expect(cleanText(plain)).toBe(plain);
});

test("lines that replace each other keep what makes them do so, at their beginning and end only", () => {
  expect(cleanText("\rstep 3\x1b[K")).toBe("\rstep 3\x1b[K");
  expect(cleanText("\r\x1b[K")).toBe("\r\x1b[K");
  expect(cleanText("\x1b[H\x1b[2Jall\n")).toBe("\x1b[H\x1b[2Jall\n");
  expect(cleanText("\rclass \r\x1b[K evil\x1b[K")).toBe("\rclass \\r\\u{1b}[K evil\x1b[K");
});
