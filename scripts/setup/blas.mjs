/**
 * Finds the BLAS library that a libtorch uses for matrix products. Debian's libtorch links to whatever libblas.so.3
 * points to, and the reference implementation, which many packages install, is about 25 times slower than OpenBLAS.
 */
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */

/** The name of a BLAS by its file. The reference BLAS is in …/blas/ on Debian and is called libblas.so.3.x on Fedora.
 * @param {string} path the library, links followed @returns {string} "reference", "OpenBLAS", … */
export function blasName(path) {
  if (/openblas/i.test(path)) return "OpenBLAS";
  if (/mkl/i.test(path)) return "MKL";
  if (/blis/i.test(path)) return "BLIS";
  if (/atlas/i.test(path)) return "ATLAS";
  return /libf?blas\.so/.test(path) ? "reference" : "unknown";
}

/** The BLAS that the loader would use for a library, from the output of `ldd`; undefined if the library contains its own.
 * @param {string} listing @param {(path: string) => string} [follow] */
export function blasFromLdd(listing, follow = realpathSync) {
  const path = /^\s*lib(?:blas|cblas|openblas|mkl_\w+|blis)\b\S* => (\/\S+)/m.exec(listing)?.[1];
  if (!path) return undefined;
  const real = follow(path);
  return { path: real, name: blasName(real) };
}

/** The BLAS of a libtorch. @param {{ lib: string }} libtorch @param {Environment} env */
export async function blasOf({ lib }, env) {
  const listing = await run("ldd", [join(lib, "libtorch_cpu.so")], { env });
  return blasFromLdd(listing.stdout);
}
