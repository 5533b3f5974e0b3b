/**
 * Builds the addon with the address and undefined-behaviour sanitizers, in build/sanitized/, and prints how a process loads it,
 * as JSON: `{ addon, env }`. Objects are kept, so a second build compiles what changed.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { addonIsCurrent, buildAddon, recordAddon } from "../../scripts/setup/addon.mjs";
import { readJson } from "../../scripts/setup/stamp.mjs";

const root = dirname(dirname(import.meta.dirname));

/** @type {import("../../scripts/setup/engine.mjs").Engine | undefined} */
const found = readJson(join(root, "build/engine.json"));
if (!found) throw new Error("build/engine.json is missing: run npm run setup first");

/** The path of a library of the compiler's. @param {string} name */
const libraryOf = (name) =>
  spawnSync(found.compiler.command[0], [`-print-file-name=${name}`], { encoding: "utf8" }).stdout.trim();

const engine = {
  ...found,
  // The headers of libtorch break the rules of alignment and of enumerations on their own; ours are the accesses to memory.
  flags: ["-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize=vptr,alignment,enum"],
  env: {
    // Node itself is not built so: the runtime comes first by LD_PRELOAD, and what V8 keeps until the end is no leak of ours.
    LD_PRELOAD: `${libraryOf("libasan.so")} ${libraryOf("libubsan.so")}`,
    ASAN_OPTIONS: "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:detect_odr_violation=0",
    UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1:abort_on_error=1",
  },
};
const folders = { root, build: join(root, "build/sanitized"), sources: join(root, "native/src") };
if (!addonIsCurrent(engine, folders)) {
  await buildAddon(engine, folders);
  recordAddon(engine, folders, "built here, with sanitizers");
}
process.stdout.write(`${JSON.stringify({ addon: join(folders.build, "nudge.node"), env: engine.env })}\n`);
