/** Finds the libtorch of a Python `torch` package without importing it, because an import takes seconds. */
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { run, which } from "./command.mjs";
import { judgePrefix } from "./libtorch.mjs";

/** @typedef {import("./command.mjs").Environment} Environment */
/** @typedef {import("./libtorch.mjs").Verdict} Verdict */

// `-c` puts the current folder first on sys.path, so a folder called torch would be used by mistake.
const question = `
import sys
sys.path = [p for p in sys.path if p]
import importlib.util
spec = importlib.util.find_spec("torch")
places = list(spec.submodule_search_locations or []) if spec else []
print(places[0] if places else "")
`;

/** Whether a package only links to the libtorch of the system, like Debian's python3-torch. In this case the system is examined instead.
 * @param {string} prefix */
function linksElsewhere(prefix) {
  const library = join(prefix, "lib", "libtorch_cpu.so");
  return existsSync(library) && !realpathSync(library).startsWith(`${realpathSync(prefix)}/`);
}

/** Asks each Python on `$PATH` for its torch package and examines the first one that has it.
 * @param {{ env: Environment, arch: string }} where @returns {Promise<Verdict & { place: string }>} */
export async function pythonTorch({ env, arch }) {
  const asked = [];
  for (const name of ["python3", "python"]) {
    const python = which(name, env);
    if (!python) continue;
    asked.push(python);
    const answer = await run(python, ["-c", question], { env });
    const prefix = answer.code === 0 ? answer.stdout.trim() : "";
    if (!prefix) continue;
    const place = `Python's torch package (${prefix})`;
    if (linksElsewhere(prefix)) return { place, problem: "it is the system's libtorch, linked", empty: true };
    return { place, ...judgePrefix(prefix, "Python's torch package", arch) };
  }
  if (asked.length === 0) return { place: "Python's torch package", problem: "no python3 on PATH", empty: true };
  return {
    place: "Python's torch package",
    problem: `${asked.join(" and ")} ${asked.length > 1 ? "have" : "has"} none`,
    empty: true,
  };
}
