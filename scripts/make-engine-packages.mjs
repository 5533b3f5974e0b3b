#!/usr/bin/env node
/**
 * Creates the optional package of prebuilt addons for this platform, for the given versions of libtorch:
 *
 *     npm run setup && node scripts/make-engine-packages.mjs ~/libtorch-2.11.0
 * ~/venv/lib/python3.12/site-packages/torch
 *
 * writes build/packages/nudge-dg-engine-linux-x64: package.json, engines.json (for each addon its libtorch, CUDA, ABI,
 * the hash of its sources and its SHA-256) and the addons. Publish it with the version of this package, and add it to
 * the package's optionalDependencies: setup uses an addon from it if everything fits (scripts/setup/prebuilt.mjs), and
 * compiles otherwise. Build on the oldest system to support, because an addon needs at least the C library that it was
 * linked with.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildAddon, sourcesHash } from "./setup/addon.mjs";
import { findEngine } from "./setup/engine.mjs";
import { contentHash } from "./setup/kept-builds.mjs";
import { cudaOf, packageName, placeholder } from "./setup/prebuilt.mjs";

/**
 * Builds an addon for each libtorch and writes the package; returns its folder.
 * @param {{ root: string, libtorchs: string[], sources?: string, out?: string, env?: import("./setup/command.mjs").Environment }} options
 */
export async function makeEnginePackage({
  root,
  libtorchs,
  sources = join(root, "native/src"),
  out = join(root, "build/packages"),
  env = process.env,
}) {
  const folder = join(out, packageName);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const engines = [];
  for (const [i, libtorch] of libtorchs.entries()) {
    const build = join(out, "work", String(i));
    mkdirSync(build, { recursive: true });
    const place = { build, env: { ...env, LIBTORCH: resolve(libtorch) }, arch: process.arch, searchRoot: "/" };
    const engine = { ...(await findEngine(place)), rpath: placeholder };
    await buildAddon(engine, { root, build, sources });
    const { version, abi } = engine.libtorch;
    const cuda = cudaOf(engine);
    const file = `${version}-${cuda ? `cu${cuda}` : "cpu"}-abi${abi}.node`;
    copyFileSync(join(build, "nudge.node"), join(folder, file));
    engines.push({
      file,
      sha256: contentHash(join(folder, file)),
      sources: sourcesHash(sources),
      libtorch: version,
      abi,
      cuda,
    });
  }
  rmSync(join(out, "work"), { recursive: true, force: true });
  const { version = "0.0.0", license = "MIT" } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const about = {
    name: packageName,
    version,
    description: `The engine of nudge-dg ${version}, prebuilt for ${process.platform} ${process.arch}`,
    license,
    os: [process.platform],
    cpu: [process.arch],
    files: ["engines.json", "*.node"],
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(about, null, 2)}\n`);
  writeFileSync(join(folder, "engines.json"), `${JSON.stringify({ engines }, null, 2)}\n`);
  return folder;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const libtorchs = process.argv.slice(2);
  if (libtorchs.length === 0) {
    process.stderr.write("make-engine-packages: name the folders of one or more libtorch builds\n");
    process.exit(2);
  }
  const folder = await makeEnginePackage({ root: dirname(dirname(fileURLToPath(import.meta.url))), libtorchs });
  process.stdout.write(`wrote ${folder}\n`);
}
