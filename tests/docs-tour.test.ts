/** The tour quotes the sources: each piece of code in it stands, line for line, in the file linked last before it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** Code without its indentation, which depends on where it stands. */
const flush = (code: string): string => code.replaceAll(/^[ \t]+/gm, "");

test("the code in docs/tour.md equals that of the files it names", () => {
  const tour = readFileSync(join(root, "docs/tour.md"), "utf8");
  const quotes = [...tour.matchAll(/^```ts\n([\s\S]*?)\n```$/gm)];
  expect(quotes.length).toBeGreaterThan(8);
  for (const { 1: code, index } of quotes) {
    const links = [...tour.slice(0, index).matchAll(/\]\(\.\.\/((?:src|native)\/[^)]+\.(?:ts|cc))\)/g)];
    const file = links.at(-1)![1];
    const source = flush(readFileSync(join(root, file), "utf8"));
    for (const part of code.split("\n…\n"))
      expect(source, `${file} has no longer what docs/tour.md quotes`).toContain(flush(part));
  }
});
