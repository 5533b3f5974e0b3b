/**
 * Compiles src/ to dist/ if a source, a setting or the compiler has changed, and removes outputs without a source.
 * Browser code is compiled with its own settings (tsconfig.page.json), and its style sheets are copied.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { run } from "./command.mjs";
import { SetupError, timed } from "./report.mjs";
import { filesUnder, hashOf, hashOfFiles, readJson, setupHash, writeJson } from "./stamp.mjs";

/** @typedef {{ root: string, build: string }} Folders */

const projects = ["tsconfig.build.json", "tsconfig.page.json"];

/** @param {string} root */
const projectsIn = (root) => projects.filter((name) => existsSync(join(root, name)));

/** All sources except tests, including those that the settings exclude. @param {string} root */
const sourcesIn = (root) =>
  filesUnder(join(root, "src"), (name) => /\.(tsx?|css)$/.test(name) && !name.endsWith(".test.ts"));

/** @param {string} root */
function typescriptHash(root) {
  const compiler = readJson(join(root, "node_modules/typescript/package.json"))?.version;
  const settings = hashOfFiles(root, ["tsconfig.json", ...projectsIn(root)]);
  return hashOf(setupHash(), compiler, settings, hashOfFiles(join(root, "src"), sourcesIn(root)));
}

/** Whether dist/ is complete and matches the sources. This is also true for an installed package, which has dist/ and no
 * settings. @param {Folders} folders */
export function typescriptIsCurrent({ root, build }) {
  if (!existsSync(join(root, "tsconfig.build.json"))) return true;
  /** @type {{ hash: string, files: string[] } | undefined} */
  const record = readJson(join(build, "typescript.json"));
  return record?.hash === typescriptHash(root) && record.files.every((file) => existsSync(join(root, "dist", file)));
}

/** @param {Folders} folders */
export async function buildTypescript({ root, build }) {
  const hash = typescriptHash(root);
  const dist = join(root, "dist");
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  rmSync(join(build, "typescript.json"), { force: true }); // a failed compilation also writes to dist/
  await timed("compiling TypeScript", async () => {
    const made = copyStyles(root, dist);
    for (const project of projectsIn(root)) {
      const args = [compiler, "-p", project, "--listEmittedFiles"];
      const { code, output } = await run(process.execPath, args, { cwd: root });
      const lines = output.split("\n");
      for (const line of lines) if (line.startsWith("TSFILE: ")) made.add(relative(dist, line.slice(8).trim()));
      if (code !== 0) {
        const errors = lines.filter((line) => line && !line.startsWith("TSFILE: "));
        throw new SetupError(`compiling TypeScript failed:\n${errors.slice(0, 20).join("\n")}`);
      }
    }
    for (const orphan of filesUnder(dist, (file) => !made.has(file))) rmSync(join(dist, orphan));
    writeJson(join(build, "typescript.json"), { hash, files: [...made] });
  });
}

/** Copies style sheets to the output folders of the modules next to them; returns their names.
 * @param {string} root @param {string} dist */
function copyStyles(root, dist) {
  const styles = filesUnder(join(root, "src"), (name) => name.endsWith(".css"));
  for (const style of styles) {
    mkdirSync(dirname(join(dist, style)), { recursive: true });
    copyFileSync(join(root, "src", style), join(dist, style));
  }
  return new Set(styles);
}
