/** Every link in the Markdown of the repository leads somewhere: to a file that is there, and to a heading in it. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";
import { markdownFiles } from "./support/markdown-files.js";

const root = resolve(import.meta.dirname, "..");

/** A page without its fenced code, in which brackets are not links and # is no heading. */
const prose = (text: string): string => text.replaceAll(/^(```+)[\s\S]*?^\1\s*$/gm, "");

/** The anchors of a page, made of its headings as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = prose(readFileSync(path, "utf8")).matchAll(/^#{1,6} +(.+?) *#*$/gm);
  const anchors = Array.from(headings, ([, heading]) => {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
  return new Set(anchors);
}

/** What is wrong with the links of a page, one line each. */
function brokenLinks(path: string): string[] {
  const text = prose(readFileSync(path, "utf8")).replaceAll(/(`+)[^`].*?\1/g, "");
  const targets = Array.from(
    text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|\b(?:href|src)="([^"]+)"/g),
    (m) => m[1] ?? m[2],
  );
  return targets.flatMap((target) => {
    if (/^[a-z]+:/i.test(target)) return []; // another site's, or mail
    const [file, anchor] = target.split("#");
    const wanted = file === "" ? path : join(dirname(path), decodeURIComponent(file));
    const where = `${relative(root, path)}: ${target}`;
    if (!existsSync(wanted)) return [`${where} does not exist`];
    if (relative(root, wanted).startsWith("..")) return [`${where} leads out of the repository`];
    if (anchor === undefined || statSync(wanted).isDirectory() || !wanted.endsWith(".md")) return [];
    return anchorsOf(wanted).has(anchor) ? [] : [`${where} has no such heading`];
  });
}

test("every relative link and anchor in the Markdown files has a target", () => {
  const files = markdownFiles(root);
  expect(files.map((path) => relative(root, path))).toEqual(expect.arrayContaining(["README.md", "docs/method.md"]));
  expect(files.flatMap(brokenLinks)).toEqual([]);
});

test("the index of the docs lists every page", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8");
  const pages = markdownFiles(join(root, "docs")).map((path) => relative(join(root, "docs"), path));
  for (const page of pages.filter((each) => each !== "README.md" && !/^(sweeps|reference\/api\/)/.test(each)))
    expect(index, `docs/README.md does not link ${page}`).toContain(`(${page})`);
});
