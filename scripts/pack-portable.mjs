#!/usr/bin/env node
/**
 * Packs a build for a machine that has a torch package and a C++ compiler but neither Node nor network, such as a
 * cluster's GPU node: one archive with Node, the compiled TypeScript, the sources of the addon and the required
 * packages.
 *
 *     npm run setup && node scripts/pack-portable.mjs        writes build/nudge-portable.tar.xz
 *     tar xf nudge-portable.tar.xz && nudge-portable/nudge doctor      there: builds the addon once, then runs
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stage = join(root, "build/portable/nudge-portable");

/** The installed packages that the program needs at run time, including indirect dependencies. @returns {Set<string>} */
function runtimePackages() {
  const found = new Set();
  const visit = (/** @type {string} */ folder) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const installed = join(root, "node_modules", name);
      if (found.has(name) || !existsSync(installed)) continue; // optional binaries of other systems are not installed
      found.add(name);
      visit(installed);
    }
  };
  visit(root);
  return found;
}

if (!existsSync(join(root, "dist/cli/main.js"))) {
  process.stderr.write("pack-portable: nothing is built yet. Try: npm run setup\n");
  process.exit(1);
}
rmSync(stage, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
for (const part of ["package.json", "bin", "bench", "dist", "native/src", "scripts", "studies", "data", "LICENSE"]) {
  cpSync(join(root, part), join(stage, part), { recursive: true });
}
for (const name of runtimePackages()) {
  cpSync(join(root, "node_modules", name), join(stage, "node_modules", name), { recursive: true, dereference: true });
}
cpSync(process.execPath, join(stage, "node"), { dereference: true });
// Runs record the commit of the program that made them.
const commit = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12"], { cwd: root, encoding: "utf8" });
if (commit.status === 0) writeFileSync(join(stage, "commit.txt"), commit.stdout);
writeFileSync(
  join(stage, "nudge"),
  `#!/bin/sh
# Builds the addon against this machine's libtorch the first time, then runs the command.
here=$(cd "$(dirname "$0")" && pwd)
PATH="$here:$PATH"
"$here/node" "$here/scripts/setup.mjs" && exec "$here/node" "$here/bin/nudge.cjs" "$@"
`,
  { mode: 0o755 },
);
const archive = join(root, "build/nudge-portable.tar.xz");
execFileSync("tar", ["-C", dirname(stage), "-I", "xz -6 -T0", "-cf", archive, "nudge-portable"], { stdio: "inherit" });
rmSync(dirname(stage), { recursive: true });
process.stdout.write(`wrote ${archive} (${(statSync(archive).size / 1e6).toFixed(0)} MB)\n`);
