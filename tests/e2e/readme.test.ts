/**
 * A walk as a new user would: every block of the documents that is marked runnable is run as it is written, in order, in an
 * empty folder a document where the package is installed. Long ones only by `npm run test:all`.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type FencedBlock, fencedBlocks } from "../support/fenced-blocks.js";

const root = join(import.meta.dirname, "../..");
const long = Boolean(process.env.NUDGE_LONG);
const place = mkdtempSync(join(tmpdir(), "nudge-walk-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const documents = [
  join(root, "README.md"),
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(root, "docs", name))
    .sort(),
].map((path) => {
  const name = relative(root, path);
  // TypeScript is compiled and run by packed.test.ts.
  const all = fencedBlocks(readFileSync(path, "utf8")).filter(
    ({ runnable, language }) => runnable && language !== "ts",
  );
  return { name, all, blocks: all.filter((block) => long || !block.long) };
});

/** A folder in which `npx nudge`, `nudge` and `import "nudge-dg"` are this checkout, as after npm install. */
function installedFolder(name: string): string {
  const folder = join(place, name.replaceAll("/", "-"));
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  symlinkSync(root, join(folder, "node_modules/nudge-dg"));
  symlinkSync(join(root, "bin/nudge.mjs"), join(folder, "node_modules/.bin/nudge"));
  return folder;
}

/** Runs one block to its end; returns the exit code and what it printed. */
function run({ language, body, line }: FencedBlock, folder: string): Promise<{ code: number | null; output: string }> {
  const file = join(folder, `line-${line}.mjs`);
  if (language === "js") writeFileSync(file, body);
  const [program, ...args] = language === "js" ? [process.execPath, file] : ["bash", "-euo", "pipefail", "-c", body];
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: `${join(folder, "node_modules/.bin")}:${process.env.PATH}`,
      XDG_CACHE_HOME: join(place, "cache"),
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done({ code, output }));
  });
}

test("the README has runnable blocks, and all are of a supported kind", () => {
  expect(documents[0].all.length).toBeGreaterThan(0);
  for (const { name, all } of documents)
    for (const { language, line } of all)
      expect([name, line, ["sh", "js"].includes(language)]).toEqual([name, line, true]);
});

test("a misspelled mark is an error instead of a block that never runs", () => {
  expect(() => fencedBlocks("text\n```sh runable\nfalse\n```\n")).toThrow("line 2: ```sh runable: expected");
  expect(fencedBlocks("```sh runnable long\na\nb\n```\n\n```\nplain\n```\n")).toEqual([
    { language: "sh", runnable: true, long: true, body: "a\nb\n", line: 2 },
    { language: "", runnable: false, long: false, body: "plain\n", line: 7 },
  ]);
});

test.each(documents.filter(({ blocks }) => blocks.length > 0))(
  "$name: what is marked runnable runs as it is written",
  { timeout: long ? 3_600_000 : 180_000 },
  async ({ name, blocks }) => {
    const folder = installedFolder(name);
    for (const block of blocks) {
      const { code, output } = await run(block, folder);
      expect(code, `${name}, line ${block.line}:\n${block.body}\nended with ${code}:\n${output.slice(-3000)}`).toBe(0);
    }
  },
);
