/**
 * The package as its users have it: packed, unpacked in an empty folder, and used from strict TypeScript. Every TypeScript and JavaScript
 * block of the documents is compiled against it, and the example that compares two methods is compiled and run.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fencedBlocks } from "../support/fenced-blocks.js";
import { markdownFiles } from "../support/markdown-files.js";

const root = join(import.meta.dirname, "../..");
const place = mkdtempSync(join(tmpdir(), "nudge-packed-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

/** The packed package in `node_modules`, with the packages of this checkout beside it, and the strictest compiler options. */
beforeAll(() => {
  const packages = join(place, "node_modules");
  mkdirSync(packages);
  for (const name of readdirSync(join(root, "node_modules")).filter((each) => !/^(\.|nudge-dg$)/.test(each)))
    symlinkSync(join(root, "node_modules", name), join(packages, name));
  const arguments_ = ["pack", "--json", "--ignore-scripts", "--pack-destination", place];
  const [{ filename }] = JSON.parse(execFileSync("npm", arguments_, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })); // biome-ignore format: one call
  mkdirSync(join(packages, "nudge-dg"));
  execFileSync("tar", ["-xzf", join(place, filename), "-C", join(packages, "nudge-dg"), "--strip-components=1"]);
  writeFileSync(join(place, "package.json"), '{ "private": true, "type": "module" }\n');
  const compilerOptions = {
    ...{ target: "es2022", lib: ["es2023", "esnext.disposable"], module: "nodenext", strict: true, types: ["node"] },
    ...{ allowJs: true, checkJs: true, noUncheckedIndexedAccess: false, outDir: "out", rootDir: "programs" },
  };
  writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["programs"] }));
}, 120_000);

/** The blocks of a document that are programs. docs/tour.md quotes the sources (docs-tour.test.ts), and the reference has declarations. */
const programs = [join(root, "README.md"), ...markdownFiles(join(root, "docs"))]
  .map((path) => relative(root, path))
  .filter((path) => path !== "docs/tour.md" && !path.startsWith("docs/reference/"))
  .flatMap((path) =>
    fencedBlocks(readFileSync(join(root, path), "utf8"))
      .filter(({ language }) => language === "ts" || language === "js")
      .map(({ language, body, line, runnable }) => ({
        file: `${path.replaceAll("/", "-")}-line-${line}.${language}`,
        body,
        isRun: runnable && language === "ts",
      })),
  );

test("every program in the docs, the examples and a new user's program compile in strict TypeScript", {
  timeout: 120_000,
}, () => {
  expect(programs.length).toBeGreaterThan(8);
  const folder = join(place, "programs");
  mkdirSync(folder, { recursive: true });
  for (const { file, body } of programs) writeFileSync(join(folder, file), `${body}\nexport {};\n`);
  cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
  cpSync(join(root, "tests/packed"), join(folder, "packed"), { recursive: true });
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", place], { cwd: place, encoding: "utf8" }); // biome-ignore format: one call
  expect(stdout).toBe("");
  expect(status).toBe(0);
});

const env = { ...process.env, NUDGE_ADDON: process.env.NUDGE_ADDON ?? join(root, "build/nudge.node") };

test("the TypeScript programs that are marked runnable run", { timeout: 180_000 }, () => {
  const run = programs.filter(({ isRun }) => isRun);
  expect(run.length).toBeGreaterThan(0);
  for (const { file } of run) {
    const { status, stderr } = spawnSync(process.execPath, [join(place, "out", file.replace(/ts$/, "js"))], { cwd: place, encoding: "utf8", env }); // biome-ignore format: one call
    expect(status, `${file}: ${stderr}`).toBe(0);
  }
});

test("the example trains two methods, compares them pair by pair and prints a table", { timeout: 180_000 }, () => {
  const program = join(place, "out/examples/compare-methods/compare.js");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "runs", "21"], { cwd: place, encoding: "utf8", env }); // biome-ignore format: one call
  expect(status, stderr).toBe(0);
  expect(stdout.match(/^trial \d: -?[\d.]+ points \(-?[\d.]+ to -?[\d.]+\) on 70 pictures$/gm)).toHaveLength(3);
  expect(stdout).toMatch(/^\| ERM-NU .*\|.* ± /m);
  expect(stdout).toContain("against ERM, pair by pair");
});
