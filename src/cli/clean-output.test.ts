import { expect, test } from "vitest";
import { cleanOutput, cleanText } from "./clean-output.js";

test("control characters in names are escaped, and other text does not change", () => {
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

test("with a width, prose is wrapped and progress lines are cut", () => {
  const words = "many words ".repeat(5).trim();
  expect(cleanText(`\r\x1b[K${words}\n`, 40)).toBe("\r\x1b[Kmany words many words many words many\nwords many words\n");
  expect(cleanText(`\r${words}\x1b[K`, 40)).toBe(`\r${words.slice(0, 38)}…\x1b[K`);
  expect(cleanText(words, undefined)).toBe(words);
});

test("output to a terminal is wrapped, and output to a pipe or for a program is not", () => {
  const words = "many words ".repeat(10).trim();
  const written = (isTTY: boolean, fd: number, ...args: string[]): string => {
    const texts: string[] = [];
    const stream = { isTTY, fd, columns: 80, write: (text: string) => texts.push(text) > 0 };
    cleanOutput([stream as unknown as NodeJS.WriteStream & { fd: number }], args);
    stream.write(`${words}\n`);
    return texts.join("");
  };
  const wrapped = `${"many words ".repeat(7).trim()}\n${"many words ".repeat(3).trim()}\n`;
  expect(written(true, 1, "report", "runs")).toBe(wrapped);
  expect(written(false, 1, "report", "runs")).toBe(`${words}\n`);
  expect(written(true, 1, "report", "runs", "--json")).toBe(`${words}\n`);
  expect(written(true, 1, "completion", "bash")).toBe(`${words}\n`);
  expect(written(true, 2, "train", "--json")).toBe(wrapped);
});

test("JSON remains JSON, and a program reads the names as they are", () => {
  const names = ["\x1b]0;owned\x07", "\u202egnp", "\u200fקטן", "\x7f\x9b31m", "a\r\nb", "頭 🐕\u200d🦺"];
  for (const args of [
    ["list", "--json"],
    ["report", "--format", "json"],
    ["predict", "--format=jsonl"],
  ]) {
    const texts: string[] = [];
    const stream = { fd: 1, write: (text: string) => texts.push(text) > 0 };
    cleanOutput([stream as unknown as NodeJS.WriteStream & { fd: number }], args);
    stream.write(`${JSON.stringify(names, null, 2)}\n`);
    const written = texts.join("");
    expect(JSON.parse(written)).toEqual(names);
    expect(written).not.toMatch(/(?!\n)\p{Cc}|[\u200f\u202e]/u);
  }
});
