/**
 * The package that npm makes of this checkout: that it holds what the program reads and no more, and (by `npm run test:all`)
 * that it installs in an empty folder and runs there, where npm runs no script of a dependency and the addon is not built yet.
 */

import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, expect, test } from "vitest";
import { neededBy } from "../support/imports.js";

const root = join(import.meta.dirname, "../..");
const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const place = mkdtempSync(join(tmpdir(), "nudge-package-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** Packs, or says what would be packed; dist/ is taken as it is. */
function pack(...flags: string[]): Packed {
  const args = ["pack", "--json", "--ignore-scripts", ...flags];
  const text = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(text)[0];
}

test("the package has every file that the program reads, and no tests, source maps or sources", () => {
  const { files, size } = pack("--dry-run");
  const packed = new Set(files.map(({ path }) => path));
  const first = [
    "bin/nudge.cjs",
    "bin/nudge.mjs",
    "scripts/setup.mjs",
    "dist/cli/main.js",
    "dist/index.js",
    "dist/dashboard/page/main.js",
  ];
  const { files: needed, packages } = neededBy(first.map((path) => join(root, path)));
  const all = [...needed].map((path) => relative(root, path)).filter((path) => !path.startsWith("build/"));
  expect(all.length).toBeGreaterThan(400);
  expect(all).toEqual(expect.arrayContaining(["data/published-tables.json", "bench/peer.py", "package.json"]));
  expect(all.filter((path) => !packed.has(path))).toEqual([]);
  expect([...packages].filter((name) => !Object.hasOwn(about.dependencies, name))).toEqual([]);

  const sources = readdirSync(join(root, "native/src")).map((name) => `native/src/${name}`);
  const styles = readdirSync(join(root, "src/dashboard/page"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".css"))
    .map((name) => `dist/dashboard/page/${name}`);
  expect(
    [...sources, ...styles, "dist/index.d.ts", "README.md", "LICENSE"].filter((path) => !packed.has(path)),
  ).toEqual([]);
  const isSource = (path: string): boolean => /\.test\.|\.map$|(?<!\.d)\.ts$/.test(path);
  expect([...packed].filter((path) => isSource(path) && !path.startsWith("examples/"))).toEqual([]);
  const tops = [
    "LICENSE",
    "README.md",
    "bench",
    "bin",
    "data",
    "dist",
    "examples",
    "native",
    "package.json",
    "scripts",
  ];
  expect([...new Set([...packed].map((path) => path.split("/")[0]))].sort()).toEqual(tops);
  expect(size).toBeLessThan(2e6);
});

const isLong = Boolean(process.env.NUDGE_LONG);
const tiny = "--data shapes data.perCell=4 data.size=16 --test-domain inverted --backbone small-cnn --batch-size 4";

test.runIf(isLong)("the tarball installs and runs in an empty folder", { timeout: 1_800_000 }, () => {
  chmodSync(place, 0o755);
  const { filename } = pack("--pack-destination", place);
  const folder = join(place, "elsewhere");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
  // Nothing of this process's: no addon by name, and no npm that says where it was called from.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NUDGE_|INIT_CWD)/.test(name)));
  const run = (command: string, options: { uid?: number; cache?: string } = {}) => {
    const [program, ...args] = command.split(" ");
    return spawnSync(program, args, {
      cwd: folder,
      encoding: "utf8",
      uid: options.uid,
      env: { ...env, NUDGE_NO_INSTALL: "1", XDG_CACHE_HOME: options.cache ?? join(place, "cache") },
    });
  };
  const installed = run(`npm install --no-audit --no-fund ${join(place, filename)}`);
  expect(installed.status, installed.stderr).toBe(0);
  const module = join(folder, "node_modules/nudge-dg");

  const before = run("npx nudge doctor");
  expect(before.stdout).toContain("error: the engine has not been built");
  expect(before.stdout).toContain("fix: npx nudge setup");
  expect(before.status).toBe(1);
  expect(run("npx nudge dashboard --help").stdout).toContain("Usage: nudge dashboard");
  writeFileSync(
    join(folder, "classes.js"),
    'import { loadModel } from "nudge-dg";\nconst model = await loadModel(process.argv[2]);\nconsole.log(model.about.classes.length);\n',
  );

  const trained = run(`npx nudge train ${tiny} --steps 3 --out runs --json`);
  expect(trained.status, trained.stderr).toBe(0);
  expect(trained.stderr).toMatch(/^\[setup\] the engine has not been built yet\. Building it now; this happens once/m);
  expect(trained.stderr).toMatch(/^\[setup\] building the addon/m);
  const outcome = JSON.parse(trained.stdout); // the words of set-up are not among the data
  expect(outcome).toBeTypeOf("object");
  const again = run(`npx nudge train ${tiny} --steps 2 --out runs --quiet`);
  expect([again.status, again.stderr.includes("[setup]")]).toEqual([0, false]);
  const after = run("npx nudge doctor --json");
  expect([after.status, JSON.parse(after.stdout).addon.path]).toEqual([0, join(module, "build/nudge.node")]);
  const model = join("runs", readdirSync(join(folder, "runs"))[0]);
  expect(run(`node classes.js ${model}`).stdout).toBe("7\n");

  // The same package, installed by somebody else: its folder cannot be written to.
  rmSync(join(module, "build"), { recursive: true });
  const missing = run(`node classes.js ${model}`);
  expect(missing.stderr).toMatch(/the engine has not been built: .* is missing\. Try: npx nudge setup/);
  chmodSync(module, 0o555);
  const cache = join(place, "users-cache");
  mkdirSync(cache);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(cache, 65534, 65534);
  const user = { cache, ...(isRoot && { uid: 65534 }) };
  const setup = run("node node_modules/nudge-dg/bin/nudge.mjs setup --json", user);
  expect(setup.status, setup.stderr).toBe(0);
  expect(JSON.parse(setup.stdout).addon).toMatch(new RegExp(`^${cache}/nudge/addon/[0-9a-f]{12}/nudge\\.node$`));
  const found = run("node node_modules/nudge-dg/bin/nudge.mjs doctor", user);
  expect([found.status, found.stdout.includes("no problems found")]).toEqual([0, true]);
  chmodSync(module, 0o755);
});
