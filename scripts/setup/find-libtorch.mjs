/**
 * Searches for libtorch: `$LIBTORCH`, then Python's torch package, then the system. Records what each place contained,
 * for the error.
 */
import { join, resolve } from "node:path";
import { run } from "./command.mjs";
import { judgePrefix } from "./libtorch.mjs";
import { multiarch } from "./machine.mjs";
import { pythonTorch } from "./python-torch.mjs";
import { SetupError } from "./report.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {import("./libtorch.mjs").Libtorch} Libtorch */
/** @typedef {{ place: string, found: string, empty: boolean }} Look what one place held */
/** @typedef {{ env: Environment, arch: string, searchRoot: string }} Where `searchRoot` is "/" but in tests */

/** The prefixes in which the dynamic loader finds a libtorch, from the output of `ldconfig -p`.
 * @param {string} listing @param {string} arch @returns {string[]} */
export function prefixesFromLdconfig(listing, arch) {
  const prefixes = [...listing.matchAll(/=> (.+)\/libtorch_cpu\.so$/gm)].map(([, lib]) => {
    const folder = multiarch(arch) && lib.endsWith(`/${multiarch(arch)}`) ? join(lib, "..") : lib;
    const prefix = join(folder, "..");
    return prefix === "/" ? "/usr" : prefix; // /lib is /usr/lib on a merged system
  });
  return [...new Set(prefixes)];
}

/** The prefixes of the system, in order of search. @param {Where} where */
async function systemPrefixes({ env, arch, searchRoot }) {
  const fixed = [join(searchRoot, "usr"), join(searchRoot, "usr/local")];
  if (searchRoot !== "/") return fixed;
  const listing = await run("/sbin/ldconfig", ["-p"], { env });
  return [...new Set([...fixed, ...prefixesFromLdconfig(listing.stdout, arch)])];
}

/** The first suitable libtorch, and what was found in every place before it.
 * @param {Where} where @returns {Promise<{ libtorch?: Libtorch, looks: Look[] }>} */
export async function findLibtorch(where) {
  /** @type {Look[]} */
  const looks = [];
  if (where.env.LIBTORCH) {
    // npm changes to the folder of the package, and stores the original one in INIT_CWD.
    const given = resolve(where.env.INIT_CWD ?? ".", where.env.LIBTORCH);
    const verdict = judgePrefix(given, "$LIBTORCH", where.arch);
    if ("libtorch" in verdict) return { libtorch: verdict.libtorch, looks };
    // The user named it, so no other libtorch is used instead.
    throw new SetupError(
      `LIBTORCH=${given}: ${verdict.problem}. Expected a folder that holds include/ and lib/ of one libtorch; unset LIBTORCH to have it looked for`,
    );
  }
  looks.push({ place: "$LIBTORCH", found: "not set", empty: true });
  const { place, ...python } = await pythonTorch(where);
  if ("libtorch" in python) return { libtorch: python.libtorch, looks };
  looks.push({ place, found: python.problem, empty: python.empty });
  for (const prefix of await systemPrefixes(where)) {
    const verdict = judgePrefix(prefix, "the system", where.arch);
    if ("libtorch" in verdict) return { libtorch: verdict.libtorch, looks };
    looks.push({ place: `the system (${prefix})`, found: verdict.problem, empty: verdict.empty });
  }
  return { looks };
}

/** The error if there is no libtorch: the searched places, what was found there, and how to install it.
 * @param {readonly Look[]} looks @param {string} notInstalled why it was not installed @returns {SetupError} */
export function noLibtorch(looks, notInstalled) {
  const places = [...looks.map(({ place, found }) => [place, found]), ["installing it with apt-get", notInstalled]];
  return new SetupError(
    [
      "libtorch, the engine that computes, was not found. Looked at:",
      ...places.map(([place, found]) => `  - ${place}: ${found}`),
      "Ways to get it, then run the same command again:",
      "  - Debian 12 or newer, and Debian-based systems that have the packages: sudo apt-get install libtorch-dev libopenblas0-pthread",
      "  - any Linux, with or without an NVIDIA GPU: pip install torch (the python3 on PATH must be the one that has it)",
      "  - or unpack a libtorch zip from https://pytorch.org and set LIBTORCH to its folder",
    ].join("\n"),
  );
}
