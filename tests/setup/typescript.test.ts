import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { buildTypescript, typescriptIsCurrent } from "../../scripts/setup/typescript.mjs";
import { temporaryFolder, write } from "./fake-libtorch.js";

beforeEach(() => {
  vi.spyOn(process.stderr, "write").mockReturnValue(true); // progress lines
  return () => vi.restoreAllMocks();
});

/** A clone of two sources, a test and a fixture that the settings leave out. */
function clone() {
  const root = temporaryFolder();
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(root, "node_modules"));
  write(join(root, "package.json"), '{ "type": "module" }');
  write(
    join(root, "tsconfig.json"),
    '{ "compilerOptions": { "module": "nodenext", "target": "es2022", "types": [] } }',
  );
  const options = '{ "rootDir": "src", "outDir": "dist", "declaration": true }';
  const exclude = '["src/**/*.test.ts", "src/**/*.fixture.ts"]';
  const build = `{ "extends": "./tsconfig.json", "compilerOptions": ${options}, "include": ["src"], "exclude": ${exclude} }`;
  write(join(root, "tsconfig.build.json"), build);
  write(join(root, "src/a.ts"), "export const a: number = 1;\n");
  write(join(root, "src/deep/b.ts"), 'export { a } from "../a.js";\n');
  write(join(root, "src/a.test.ts"), "");
  write(join(root, "src/a.fixture.ts"), "");
  return { root, build: join(root, "build") };
}

test("sources are compiled once, and again when one changes or a result is lost", async () => {
  const folders = clone();
  const dist = (file: string) => join(folders.root, "dist", file);
  expect(typescriptIsCurrent(folders)).toBe(false);
  await buildTypescript(folders);
  expect(typescriptIsCurrent(folders)).toBe(true);
  expect(existsSync(dist("deep/b.d.ts"))).toBe(true);

  rmSync(dist("deep/b.js"));
  expect(typescriptIsCurrent(folders)).toBe(false);
  await buildTypescript(folders);

  writeFileSync(join(folders.root, "src/a.test.ts"), "// tests are not part of it\n");
  expect(typescriptIsCurrent(folders)).toBe(true);
  writeFileSync(join(folders.root, "src/a.ts"), "export const a: number = 2;\n");
  expect(typescriptIsCurrent(folders)).toBe(false);
  await buildTypescript(folders);
  expect(readFileSync(dist("a.js"), "utf8")).toMatch(/a = 2/);
});

test("outputs without a source are removed", async () => {
  const folders = clone();
  await buildTypescript(folders);
  rmSync(join(folders.root, "src/deep/b.ts"));
  expect(typescriptIsCurrent(folders)).toBe(false);
  await buildTypescript(folders);
  expect(existsSync(join(folders.root, "dist/deep/b.js"))).toBe(false);
  expect(existsSync(join(folders.root, "dist/a.js"))).toBe(true);
});

test("browser code is compiled with its own settings, and its style sheets are copied", async () => {
  const folders = clone();
  const { root } = folders;
  const dist = (file: string) => join(root, "dist", file);
  const build = readFileSync(join(root, "tsconfig.build.json"), "utf8");
  writeFileSync(
    join(root, "tsconfig.build.json"),
    build.replace('"src/**/*.test.ts"', '"src/page", "src/**/*.test.ts"'),
  );
  const options = '{ "lib": ["es2022", "dom"] }';
  const page = `{ "extends": "./tsconfig.build.json", "compilerOptions": ${options}, "include": ["src/page"], "exclude": [] }`;
  write(join(root, "tsconfig.page.json"), page);
  write(join(root, "src/page/main.ts"), 'import { a } from "../a.js";\ndocument.title = String(a);\n');
  write(join(root, "src/page/style/base.css"), "body { margin: 0 }\n");
  await buildTypescript(folders);
  expect(typescriptIsCurrent(folders)).toBe(true);
  expect(existsSync(dist("page/main.js"))).toBe(true);
  expect(existsSync(dist("deep/b.js"))).toBe(true);
  writeFileSync(join(root, "src/page/style/base.css"), "body { margin: 1px }\n");
  expect(typescriptIsCurrent(folders)).toBe(false);
  await buildTypescript(folders);
  expect(readFileSync(dist("page/style/base.css"), "utf8")).toContain("1px");
});

test("a source that does not compile is reported, and restoring it compiles again", async () => {
  const folders = clone();
  await buildTypescript(folders);
  writeFileSync(join(folders.root, "src/a.ts"), 'export const a: number = "three";\n');
  await expect(buildTypescript(folders)).rejects.toThrow(
    /^compiling TypeScript failed:\nsrc\/a\.ts\(1,14\): error TS2322/,
  );
  writeFileSync(join(folders.root, "src/a.ts"), "export const a: number = 1;\n");
  expect(typescriptIsCurrent(folders)).toBe(false);
});

test("a package that was installed with dist/ compiles nothing", () => {
  const { root, build } = clone();
  rmSync(join(root, "tsconfig.build.json"));
  expect(typescriptIsCurrent({ root, build })).toBe(true);
});
