/** Compiles src/ to dist/ when a source, a setting or the compiler changed, and drops what has no source any more. */
import { existsSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { run } from "./command.mjs";
import { SetupError, timed } from "./report.mjs";
import { filesUnder, hashOf, hashOfFiles, readJson, setupHash, writeJson } from "./stamp.mjs";

/** @typedef {{ root: string, build: string }} Folders */

const settings = ["tsconfig.json", "tsconfig.build.json"];

/** All sources, whether the settings leave some out or not; tests do not matter here. @param {string} root */
const sourcesIn = (root) => filesUnder(join(root, "src"), (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));

/** @param {string} root */
function typescriptHash(root) {
  const compiler = readJson(join(root, "node_modules/typescript/package.json"))?.version;
  return hashOf(setupHash(), compiler, hashOfFiles(root, settings), hashOfFiles(join(root, "src"), sourcesIn(root)));
}

/** Whether dist/ is what the sources make, and whole; so too where the package was installed with dist/ and without
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
  rmSync(join(build, "typescript.json"), { force: true }); // a compilation that fails has written to dist/ all the same
  await timed("compiling TypeScript", async () => {
    const args = [compiler, "-p", "tsconfig.build.json", "--listEmittedFiles"];
    const { code, output } = await run(process.execPath, args, { cwd: root });
    const lines = output.split("\n");
    const made = lines.flatMap((line) => (line.startsWith("TSFILE: ") ? [relative(dist, line.slice(8).trim())] : []));
    if (code !== 0) {
      const errors = lines.filter((line) => line && !line.startsWith("TSFILE: "));
      throw new SetupError(`compiling TypeScript failed:\n${errors.slice(0, 20).join("\n")}`);
    }
    for (const orphan of filesUnder(dist, (file) => !made.includes(file))) rmSync(join(dist, orphan));
    writeJson(join(build, "typescript.json"), { hash, files: made });
  });
}
