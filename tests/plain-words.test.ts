/**
 * Plain words: phrases that readers stumble over, and how often each may still appear in what people read. A handful is allowed for phrases that are the
 * plain words in some places; other limits are the present counts: lower them when a phrase is rewritten. What to write instead is in CONTRIBUTING.md, "Words".
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { markdownFiles } from "./support/markdown-files.js";

const root = join(import.meta.dirname, "..");

/** A phrase, and the most that the documents and the sources may have of it. */
const PHRASES: readonly (readonly [phrase: RegExp, documents: number, sources: number])[] = [
  [/\banew\b/gi, 2, 3],
  [/\bunless (told|given|set)\b/gi, 2, 3],
  [/\b(is|are|was|were|be|been|being) told\b|\btold of\b/gi, 0, 4],
  [/\bright when said\b|\bfound, %/gi, 0, 0],
  [/\bwhat it takes for what\b/gi, 0, 0],
  [/\bhow (sure|right) it is\b/gi, 0, 0],
  [/\bmust be known\b/gi, 0, 1],
  [/\bin its midst\b|\bhands (it|them|on|over)\b/gi, 0, 0],
  [/\b(and|its|their) kin\b|\bwhere it may\b/gi, 0, 0],
  [/\bmakes itself\b|\bmade itself\b/gi, 0, 0],
  [/\bcalled wrongly\b/gi, 0, 0],
  [/\bleft out\b/gi, 2, 3],
  [/\bfarther than\b/gi, 0, 2],
  [/\bof the way apart\b/gi, 0, 0],
  [/\bgo(es)? on (with|where|from)\b|\bthe way on\b/gi, 2, 3],
  [/\bin (whose|the) place( of)?\b/gi, 2, 14],
  [/\bby itself\b/gi, 2, 3],
  [/\btold\b/gi, 0, 6],
  [/\bone's own\b/gi, 1, 11],
  [/\b(lightened|bury|Mishap|whenLeft|waysOn|tellOf|forSum|forProduct)\b/g, 0, 3],
];

/** README, guides and recipes. docs/reference is generated from the sources, docs/results from reports. */
const documents = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map((name) => join(root, name)),
  ...markdownFiles(join(root, "docs")).filter((path) => !/docs\/(reference|sweeps)\//.test(path)),
];
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /(?<!\.test)\.ts$/.test(name))
  .map((name) => join(root, "src", name));

const textOf = (paths: readonly string[]): string =>
  paths.map((path) => readFileSync(path, "utf8").replaceAll(/\s+(\* )?/g, " ")).join("\n");
const texts = { documents: textOf(documents), sources: textOf(sources) };

const count = (text: string, phrase: RegExp): number => text.match(phrase)?.length ?? 0;

test.each(PHRASES)("%s appears at most %i times in the documents and %i in the sources", (phrase, ...limits) => {
  const [inDocuments, inSources] = limits;
  expect(count(texts.documents, phrase)).toBeLessThanOrEqual(inDocuments);
  expect(count(texts.sources, phrase)).toBeLessThanOrEqual(inSources);
});
