/**
 * The engine that the addon is built with: libtorch (found or installed), its BLAS, its CUDA headers, and the compiler.
 * The result is stored in build/engine.json, which `nudge doctor` reads, and the search is not repeated until the
 * environment or the library changes.
 */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { aptInstall, rightToInstall } from "./apt.mjs";
import { blasOf } from "./blas.mjs";
import { run, which } from "./command.mjs";
import { findCudaHeaders } from "./cuda.mjs";
import { findLibtorch, noLibtorch } from "./find-libtorch.mjs";
import { SetupError, say } from "./report.mjs";
import { fileIdentity, hashOf, readJson, setupHash, writeJson } from "./stamp.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {import("./libtorch.mjs").Libtorch} Libtorch */
/** @typedef {{ command: string[], version: string }} Compiler `command` can have several words, as in `ccache g++`; it
 * is empty if there is no compiler, and `version` states that. An addon that was built before needs no compiler */
/**
 * @typedef {object} Engine
 * @property {Libtorch} libtorch
 * @property {import("./cuda.mjs").CudaHeaders | null} cuda the headers that the addon is built with; null for a CPU addon
 * @property {string | null} cudaProblem why a libtorch with CUDA gets a CPU addon
 * @property {Compiler} compiler
 * @property {string} [rpath] the placeholder for libtorch's folder, if the addon is built for other machines
 * @property {string} identity changes when the file of the library changes
 * @property {string} foundBy hash of the environment in which it was found
 * @property {string[]} [flags] additional arguments of the compiler and the linker, for sanitizers
 * @property {Environment} [env] environment variables that a process needs to load such an addon
 */
/** @typedef {{ build: string, env: Environment, arch: string, searchRoot: string }} Place */

/** The command of the C++ compiler as a list of arguments. @param {Environment} env */
const compilerWords = (env) => (env.CXX?.trim() || "g++").split(/\s+/);

/** The inputs that determine the result of the search, read without starting any program. @param {Place} place */
function surroundings({ env, arch, searchRoot }) {
  const names = ["LIBTORCH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYENV_VERSION"];
  const words = compilerWords(env);
  const compiler = which(words[0], env);
  return hashOf(
    setupHash(),
    searchRoot,
    arch,
    names.map((name) => env[name]),
    ["python3", "python", "nvcc"].map((name) => which(name, env)),
    [words, compiler, compiler && fileIdentity(realpathSync(compiler))],
  );
}

/** @param {Libtorch} libtorch */
const identityOf = (libtorch) => fileIdentity(join(libtorch.lib, "libtorch_cpu.so"));

/** The engine of an earlier search, if it is still valid. @param {Place} place @returns {Engine | undefined} */
export function knownEngine(place) {
  /** @type {Engine | undefined} */
  const engine = readJson(join(place.build, "engine.json"));
  if (!engine?.libtorch || engine.foundBy !== surroundings(place)) return undefined;
  return engine.identity === identityOf(engine.libtorch) && existsSync(engine.libtorch.include) ? engine : undefined;
}

/** The compiler and its version. @param {Environment} env @returns {Promise<Compiler>} */
async function findCompiler(env) {
  const [name, ...rest] = compilerWords(env);
  const path = which(name, env);
  const answer = path ? await run(path, [...rest, "--version"], { env }) : undefined;
  const version =
    answer?.code === 0
      ? answer.stdout
          .split("\n")[0]
          .match(/\d+(?:\.\d+)+/g)
          ?.at(-1)
      : undefined;
  if (path && version) return { command: [path, ...rest], version };
  const found = path ? `${path} does not answer as one` : "it is not on PATH";
  const looked = env.CXX ? `CXX is "${env.CXX}", but ${found}` : `looked for g++, ${found}`;
  return { command: [], version: `no C++ compiler: ${looked}. Try: sudo apt-get install g++ (or set CXX)` };
}

/** Finds libtorch, or installs it if that is permitted. @param {Place} place @returns {Promise<Libtorch>} */
async function obtainLibtorch(place) {
  const { libtorch, looks } = await findLibtorch(place);
  for (const { place: where, found, empty } of looks) if (!empty) say(`passed over ${where}: ${found}`);
  if (libtorch) return libtorch;
  const right = await rightToInstall(place);
  if ("problem" in right) throw noLibtorch(looks, right.problem);
  try {
    await aptInstall(["libtorch-dev", "libopenblas0-pthread"], "libtorch is the engine that computes", {
      right,
      env: place.env,
    });
  } catch (error) {
    if (error instanceof SetupError) throw noLibtorch(looks, error.message);
    throw error;
  }
  const again = await findLibtorch(place);
  if (!again.libtorch) throw noLibtorch(again.looks, "done, but it is still not found");
  return again.libtorch;
}

/** Replaces the slow reference BLAS if that is permitted, and otherwise prints how to do it. A slow engine still works, so nothing here
 * is an error. @param {Libtorch} libtorch @param {Place} place */
async function mendBlas(libtorch, place) {
  const blas = await blasOf(libtorch, place.env);
  if (blas?.name !== "reference") return;
  const slow = "matrix products would run on the reference BLAS, about 25 times slower than OpenBLAS";
  const right = await rightToInstall(place);
  let problem = "problem" in right ? right.problem : undefined;
  if (!("problem" in right)) {
    try {
      await aptInstall(["libopenblas0-pthread"], slow, { right, env: place.env });
      const now = await blasOf(libtorch, place.env);
      if (now?.name !== "reference") return;
      problem = `${now.path} is still chosen; see update-alternatives --list libblas.so.3-*`;
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      problem = error.message;
    }
  }
  say(
    `warning: ${slow} (${blas.path}), and it was not replaced: ${problem}. Try: sudo apt-get install libopenblas0-pthread`,
  );
}

/** Finds everything that the addon is built with, and stores the result.
 * @param {Place} place @returns {Promise<Engine>} */
export async function findEngine(place) {
  const libtorch = await obtainLibtorch(place);
  await mendBlas(libtorch, place);
  const headers = libtorch.cuda ? findCudaHeaders(libtorch, place) : undefined;
  const cudaProblem = headers && "problem" in headers ? headers.problem : null;
  const cuda = headers && !("problem" in headers) ? headers : null;
  say(
    `libtorch ${libtorch.version} from ${libtorch.origin} (${libtorch.prefix})${cuda ? `, CUDA ${cuda.version}` : ""}`,
  );
  if (cudaProblem)
    say(`warning: this libtorch has CUDA, but the addon is built for the CPU: ${cudaProblem}. Try: set CUDA_HOME`);
  const compiler = await findCompiler(place.env);
  /** @type {Engine} */
  const engine = {
    libtorch,
    cuda,
    cudaProblem,
    compiler,
    identity: identityOf(libtorch) ?? "",
    foundBy: surroundings(place),
  };
  writeJson(join(place.build, "engine.json"), engine);
  return engine;
}
