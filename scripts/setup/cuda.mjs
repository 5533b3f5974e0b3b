/** Finds the CUDA headers for a libtorch that was built with CUDA. The addon needs them for streams, graphs and memory statistics. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { which } from "./command.mjs";
import { numbersOf } from "./version.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {import("./libtorch.mjs").Libtorch} Libtorch */
/** @typedef {{ include: string[], version: string }} CudaHeaders */

/** The version in cuda.h: `#define CUDA_VERSION 13000` → 13.0. @param {string} include */
function versionIn(include) {
  if (!existsSync(join(include, "cuda_runtime.h"))) return undefined;
  const header = ["cuda.h", "cuda_runtime_api.h"].map((file) => join(include, file)).find((file) => existsSync(file));
  const number = /#define (?:CUDA_VERSION|CUDART_VERSION)\s+(\d+)/.exec(
    header ? readFileSync(header, "utf8") : "",
  )?.[1];
  return number ? `${Math.floor(Number(number) / 1000)}.${(Number(number) % 1000) / 10}` : undefined;
}

/** The include folders of the `nvidia` packages next to a Python torch package: nvidia/cu13/include, or with CUDA 12
 * nvidia/cuda_runtime/include. @param {string} prefix */
function packagedIncludes(prefix) {
  const nvidia = join(prefix, "..", "nvidia");
  if (!existsSync(nvidia)) return [];
  const includes = readdirSync(nvidia).map((name) => join(nvidia, name, "include"));
  return includes.filter((include) => existsSync(include));
}

/** The headers of the CUDA major version that `libtorch` was built with, or the reason why there are none. The folder with the
 * header of the CUDA runtime comes first, then those of the other packages, because CUDA 12 splits its headers over several packages.
 * @param {Libtorch} libtorch @param {{ env: Environment, searchRoot: string }} where
 * @returns {CudaHeaders | { problem: string }} */
export function findCudaHeaders(libtorch, { env, searchRoot }) {
  const nvcc = which("nvcc", env);
  const toolkits = [
    env.CUDA_HOME,
    env.CUDA_PATH,
    nvcc && join(realpathSync(nvcc), "../.."),
    join(searchRoot, "usr/local/cuda"),
  ];
  const packaged = packagedIncludes(libtorch.prefix);
  const wanted = libtorch.cudaVersion && numbersOf(libtorch.cudaVersion)[0];
  const others = [];
  for (const include of [...toolkits.flatMap((toolkit) => (toolkit ? [join(toolkit, "include")] : [])), ...packaged]) {
    const version = versionIn(include);
    if (!version) continue;
    if (!wanted || numbersOf(version)[0] === wanted) return { include: [...new Set([include, ...packaged])], version };
    others.push(`${version} in ${include}`);
  }
  const found = others.length > 0 ? `only ${others.join(", ")}` : "none";
  return {
    problem: `it needs the headers of CUDA ${libtorch.cudaVersion ?? "(the version libtorch was built with)"}, found ${found}`,
  };
}
