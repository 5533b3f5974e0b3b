/**
 * Provides the addon, build/nudge.node: from a prebuilt package if one fits (prebuilt.mjs), from a build that is kept
 * for all projects of the user (kept-builds.mjs), or by compiling native/src: each source to an object, in parallel,
 * then one link. An object is stored with the hash of its source, its headers and the command line, in one folder per
 * engine, so that a change compiles only what it affects, and switching between two libtorch builds compiles nothing.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, freemem } from "node:os";
import { basename, dirname, join } from "node:path";
import { run } from "./command.mjs";
import { copyInPlace, takeOrBuild } from "./kept-builds.mjs";
import { oldestLibtorch } from "./libtorch.mjs";
import { findPrebuilt, pointAtLibtorch } from "./prebuilt.mjs";
import { SetupError, say, timed } from "./report.mjs";
import { filesUnder, hashOf, hashOfFiles, readJson, writeJson } from "./stamp.mjs";

/** @typedef {import("./engine.mjs").Engine} Engine */
/** @typedef {{ root: string, build: string, sources: string }} Folders `sources` is the folder of .cc and .h files */

/**
 * The approximate memory of one compiler process with libtorch's headers. More processes than fit would swap or be
 * killed.
 */
const bytesPerCompiler = 1.5e9;

/** Whether the loader and the compiler search a folder by default. @param {string} folder */
const isStandard = (folder) => /^\/(usr\/)?(lib|include)(\/|$)/.test(folder);

/** The folder of node_api.h. @param {string} root */
function nodeHeaders(root) {
  const resolve = createRequire(join(root, "package.json")).resolve;
  try {
    return join(dirname(resolve("node-api-headers/package.json")), "include");
  } catch {
    throw new SetupError("the package node-api-headers is missing. Try: npm install");
  }
}

/** The compiler arguments that all sources share. @param {Engine} engine @param {string} root */
export function compileFlags({ libtorch, cuda, flags = [] }, root) {
  const system = [libtorch.include, join(libtorch.include, "torch/csrc/api/include"), ...(cuda?.include ?? [])];
  return [
    `-std=c++${libtorch.std}`,
    ...["-O2", "-fopenmp", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"],
    `-D_GLIBCXX_USE_CXX11_ABI=${libtorch.abi}`,
    ...(cuda ? ["-DNUDGE_CUDA"] : []),
    "-I",
    nodeHeaders(root),
    // As system headers, so that their warnings are not shown. /usr/include itself must not be named, because that
    // changes the order of the standard folders.
    ...system.filter((folder) => folder !== "/usr/include").flatMap((folder) => ["-isystem", folder]),
    ...flags,
  ];
}

/** The linker arguments after the object files. @param {Engine} engine */
export function linkFlags({ libtorch, cuda, rpath, flags = [] }) {
  return [
    ...(isStandard(libtorch.lib) ? [] : [`-L${libtorch.lib}`]),
    ...(isStandard(libtorch.lib) && !rpath ? [] : [`-Wl,-rpath,${rpath ?? libtorch.lib}`]),
    // Operators register themselves when their library is loaded, although nothing refers to it by name.
    "-fopenmp",
    "-Wl,--no-as-needed",
    ...["-ltorch", "-ltorch_cpu", "-lc10"],
    ...(cuda ? ["-ltorch_cuda", "-lc10_cuda"] : []),
    ...flags,
  ];
}

/** A source and the headers of its own folder that it includes, directly or indirectly.
 * @param {string} folder @param {string} source @param {Set<string>} [seen] @returns {string[]} */
export function sourceAndHeaders(folder, source, seen = new Set()) {
  if (seen.has(source) || !existsSync(join(folder, source))) return [...seen];
  seen.add(source);
  const text = readFileSync(join(folder, source), "utf8");
  for (const [, name] of text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm))
    sourceAndHeaders(folder, join(dirname(source), name), seen);
  return [...seen];
}

/** @param {Folders} folders */
const sourcesIn = ({ sources }) => filesUnder(sources, (name) => name.endsWith(".cc"));

/** The hash of the addon's sources. @param {string} sources the folder */
export const sourcesHash = (sources) =>
  hashOfFiles(
    sources,
    filesUnder(sources, (name) => /\.(cc|h)$/.test(name)),
  );

/** The hash of everything that the addon depends on. @param {Engine} engine @param {Folders} folders */
function addonHash(engine, { root, sources }) {
  return hashOf(engineHash(engine, root), linkFlags(engine), sourcesHash(sources));
}

/** The hash of the engine and the flags. It does not depend on the folder of the clone: the headers of Node.js count by content, not by path.
 * @param {Engine} engine @param {string} root */
function engineHash(engine, root) {
  const headers = nodeHeaders(root);
  const content = hashOfFiles(
    headers,
    filesUnder(headers, (name) => name.endsWith(".h")),
  );
  const flags = compileFlags(engine, root).map((flag) => (flag === headers ? content : flag));
  return hashOf(engine.compiler, engine.identity, flags);
}

/** Whether the addon is complete and was built from these sources and this engine. @param {Engine} engine @param {Folders} folders */
export function addonIsCurrent(engine, folders) {
  const record = readJson(join(folders.build, "addon.json"));
  const size = statSync(join(folders.build, "nudge.node"), { throwIfNoEntry: false })?.size;
  return size !== undefined && record?.size === size && record.hash === addonHash(engine, folders);
}

/** The first errors in the output of a compiler, with their positions. @param {string} output */
export function firstErrors(output) {
  const lines = output.trimEnd().split("\n");
  const first = lines.findIndex((line) => /error:|undefined reference|ld: |ld returned/.test(line));
  if (first < 0) return lines.slice(-15).join("\n");
  const shown = lines.slice(first, first + 15);
  const left = lines.length - first - shown.length;
  return [...shown, ...(left > 0 ? [`… and ${left} lines more`] : [])].join("\n");
}

/** @param {string} what @param {string[]} command @param {string} output @param {Engine} engine */
function failure(what, command, output, engine) {
  return new SetupError(
    `${what} failed:\n${firstErrors(output)}\nThe command was:\n  ${command.map(quoted).join(" ")}\n${remedy(output, engine)}`,
  );
}

/** Advice about an error of the compiler. @param {string} output @param {Engine} engine */
export function remedy(output, { libtorch, compiler }) {
  const again = "then run the same command again: what is compiled is kept";
  if (/Killed|SIGKILL|out of memory|cannot allocate memory|virtual memory exhausted/i.test(output))
    return `The compiler was ended from outside, mostly for want of memory (it needs ${bytesPerCompiler / 1e9} GB): end other programs, ${again}`;
  if (/No space left on device|Disk quota exceeded/i.test(output))
    return `The disk is full, here or in the folder of temporary files (TMPDIR names another): make room, ${again}`;
  return [
    `The compiler was ${nameOf(compiler)}, libtorch ${libtorch.version} from ${libtorch.origin} (${libtorch.prefix}).`,
    `Set CXX to another compiler or LIBTORCH to another libtorch (g++ 12 and libtorch ${oldestLibtorch} are tested), ${again}`,
  ].join("\n");
}

/** `g++ 12.2.0` @param {Engine["compiler"]} compiler */
const nameOf = ({ command, version }) => `${basename(command[0])} ${version}`;

/** @param {string} argument */
const quoted = (argument) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`);

/** Runs jobs, a few at a time, and starts no more after one has failed. @param {(() => Promise<void>)[]} jobs @param {number} width */
export async function inParallel(jobs, width) {
  const waiting = [...jobs];
  const worker = async () => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      try {
        await job();
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(width, jobs.length) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** A description of the build: the number of files to compile, and of all files if some are up to date. @param {number} stale @param {number} all
 * @param {Engine["compiler"]} compiler */
function workInWords(stale, all, compiler) {
  if (stale === 0) return "linking the addon";
  const files = stale === all ? `${all} C++ files` : `${stale} of ${all} C++ files, which changed or are missing`;
  return `building the addon (${files}, ${nameOf(compiler)}${stale > 4 ? ", a minute or a few" : ""})`;
}

/** Provides the addon for these sources and this engine: a prebuilt one, one that another project built, or one that is built here.
 * @param {Engine} engine @param {Folders} folders @param {import("./command.mjs").Environment} env */
export async function obtainAddon(engine, folders, env) {
  const target = join(folders.build, "nudge.node");
  let origin = await takePrebuilt(engine, folders);
  if (!origin) {
    const build = () => buildAddon(engine, folders);
    const taken = await takeOrBuild(addonHash(engine, folders), target, { env, build });
    if (taken) say("the engine was built on this machine before: that build is taken");
    origin = taken ? "a build of another project" : "built here";
  }
  recordAddon(engine, folders, origin);
}

/** Records what the addon was built from, for `addonIsCurrent`.
 * @param {Engine} engine @param {Folders} folders @param {string} origin */
export function recordAddon(engine, folders, origin) {
  writeJson(join(folders.build, "addon.json"), {
    hash: addonHash(engine, folders),
    size: statSync(join(folders.build, "nudge.node")).size,
    origin,
    flags: [...compileFlags(engine, folders.root), ...linkFlags(engine)],
  });
}

/** Uses a prebuilt addon if it is complete and loads. If one fits and is not used, the reason is printed.
 * @param {Engine} engine @param {Folders} folders @returns {Promise<string | undefined>} what it was taken from */
async function takePrebuilt(engine, { root, build, sources }) {
  const found = findPrebuilt(engine, root, sourcesHash(sources));
  if (!found) return undefined;
  if ("problem" in found) {
    say(`note: ${found.problem}; the engine is built here`);
    return undefined;
  }
  const beside = join(build, "nudge.new.node");
  mkdirSync(build, { recursive: true });
  copyInPlace(found.path, beside);
  pointAtLibtorch(beside, engine.libtorch.lib);
  const problem = await loadProblem(beside);
  if (problem) {
    rmSync(beside);
    say(`note: the prebuilt engine of ${found.name} does not load here (${problem}); the engine is built here`);
    return undefined;
  }
  renameSync(beside, join(build, "nudge.node"));
  say(`took the prebuilt engine of ${found.name}`);
  return found.name;
}

/** Compiles changed sources, links, and checks that the result loads. @param {Engine} engine @param {Folders} folders */
export async function buildAddon(engine, folders) {
  const { root, build, sources } = folders;
  const all = sourcesIn(folders);
  if (all.length === 0) throw new SetupError(`no C++ sources in ${sources}: the clone is not complete`);
  if (engine.compiler.command.length === 0) throw new SetupError(engine.compiler.version);
  const flags = compileFlags(engine, root);
  const objects = join(build, "obj", engineHash(engine, root).slice(0, 12));
  mkdirSync(objects, { recursive: true });

  const objectOf = (/** @type {string} */ source) => join(objects, `${source.replaceAll("/", "+")}.o`);
  const kept = new Set(all.flatMap((source) => [objectOf(source), `${objectOf(source)}.json`]));
  for (const name of readdirSync(objects)) if (!kept.has(join(objects, name))) rmSync(join(objects, name));
  const stale = all.flatMap((source) => {
    const hash = hashOfFiles(sources, sourceAndHeaders(sources, source));
    const done = existsSync(objectOf(source)) && readJson(`${objectOf(source)}.json`) === hash;
    return done ? [] : [{ source, object: objectOf(source), hash }];
  });

  const width = Math.max(1, Math.min(availableParallelism(), Math.floor(freemem() / bytesPerCompiler)));
  await timed(workInWords(stale.length, all.length, engine.compiler), async (tell) => {
    let done = 0;
    const compiled = () => `${done} of ${stale.length} files compiled`;
    if (stale.length > 0) tell(compiled());
    const compile = stale.map(({ source, object, hash }) => async () => {
      const beside = `${object}.${process.pid}`;
      const place = `-ffile-prefix-map=${sources}=native/src`; // for messages, independent of the location of the clone
      const command = [...engine.compiler.command, ...flags, place, "-c", join(sources, source), "-o", beside];
      const { code, output } = await run(command[0], command.slice(1));
      if (code !== 0) throw failure(`building the addon: compiling ${source}`, command, output, engine);
      if (output) say(`warnings of ${source}:\n${output.trimEnd()}`);
      renameSync(beside, object);
      writeJson(`${object}.json`, hash);
      done++;
      tell(compiled());
    });
    await inParallel(compile, width);
    tell(stale.length > 0 ? `${compiled()}, linking` : "");
    await link(engine, all.map(objectOf), build);
  });
}

/** Links under a temporary name, tries to load the addon in a separate process, and only then replaces the old addon: a process that
 * uses the old one keeps it. @param {Engine} engine @param {string[]} objects @param {string} build */
async function link(engine, objects, build) {
  const beside = join(build, "nudge.new.node");
  const command = [...engine.compiler.command, "-shared", "-o", beside, ...objects, ...linkFlags(engine)];
  const linked = await run(command[0], command.slice(1));
  if (linked.code !== 0) throw failure("building the addon: linking it", command, linked.output, engine);
  const tried = engine.rpath ? join(build, "nudge.tried.node") : beside;
  if (engine.rpath) {
    copyInPlace(beside, tried);
    pointAtLibtorch(tried, engine.libtorch.lib);
  }
  const reason = await loadProblem(tried, engine.env);
  if (tried !== beside) rmSync(tried);
  if (reason) {
    throw new SetupError(
      `the addon was built against libtorch ${engine.libtorch.version} (${engine.libtorch.lib}) but does not load: ${reason}. ` +
        "A library that libtorch needs may be missing; set LIBTORCH to another libtorch, or mend this one",
    );
  }
  renameSync(beside, join(build, "nudge.node"));
}

/** Why an addon does not load, tested in a separate process; undefined if it loads.
 * @param {string} path @param {import("./command.mjs").Environment} [env] more variables of that process */
async function loadProblem(path, env = {}) {
  const script = `process.dlopen({ exports: {} }, ${JSON.stringify(path)})`;
  const { code, output } = await run(process.execPath, ["-e", script], { env: { ...process.env, ...env } });
  return code === 0 ? undefined : (/^Error: (.+)$/m.exec(output)?.[1] ?? firstErrors(output));
}
