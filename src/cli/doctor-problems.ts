/** Problems of a machine or an engine, and how to fix each one: a pure function of the facts. */

import { dirname } from "node:path";
import type { Engine, Facts } from "./doctor-facts.js";

export interface Problem {
  /** With an error, NUDGE cannot run. With a warning it runs slower, or does not use all of the machine. */
  readonly severity: "error" | "warning";
  readonly what: string;
  readonly remedy: string;
}

const oldestNode = [20, 19];
const leastMemory = 2 * 2 ** 30;
const setup = "npx nudge setup";
const again = `${setup} --again`;

/** All problems, errors first. */
export function findProblems(facts: Facts): Problem[] {
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  const error = (what: string, remedy: string) => errors.push({ severity: "error", what, remedy });
  const warn = (what: string, remedy: string) => warnings.push({ severity: "warning", what, remedy });

  const [major, minor] = facts.node.slice(1).split(".").map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]))
    error(`Node ${facts.node} is older than ${oldestNode.join(".")}`, "install a newer Node from https://nodejs.org");
  if (!facts.addon.exists) error(`the engine has not been built: ${facts.addon.path} is missing`, setup);
  else if (facts.addon.error) error(`the engine does not load: ${facts.addon.error}`, again);

  if (facts.engine) {
    for (const problem of [
      ...strayLibrary(facts, facts.engine),
      ...slowness(facts, facts.engine),
      ...gpuProblems(facts, facts.engine),
    ])
      warnings.push(problem);
  }
  if (facts.memory.available < leastMemory)
    warn(
      `only ${(facts.memory.available / 2 ** 30).toFixed(1)} GiB of memory is free`,
      "close other programs, or train with a smaller batch",
    );
  return [...errors, ...warnings];
}

/** Detects that the loaded library is not the one that the addon was built against. */
function strayLibrary({ setup: record }: Facts, { library, version }: Engine): Problem[] {
  if (!record) return [];
  const { lib, version: built } = record.libtorch;
  if (!built.startsWith(version))
    return [
      {
        severity: "warning",
        what: `the addon was built against libtorch ${version}, set-up has since found ${built}`,
        remedy: setup,
      },
    ];
  if (library && dirname(library) !== lib)
    return [
      {
        severity: "warning",
        what: `libtorch was loaded from ${library}, but the addon was built against ${lib}`,
        remedy: `unset LD_LIBRARY_PATH, or ${again}`,
      },
    ];
  return [];
}

/** What makes the CPU slow. */
function slowness({ cores }: Facts, { blas, settings, threads }: Engine): Problem[] {
  const other = `pip install torch, then ${again}`;
  const found: Problem[] = [];
  const warn = (what: string, remedy: string) => found.push({ severity: "warning", what, remedy });
  if (blas.name === "reference")
    warn(
      `matrix products run on the reference BLAS (${blas.path}), about 25 times slower than OpenBLAS`,
      "sudo apt-get install libopenblas0-pthread",
    );
  if (!settings.oneDnn) warn("this libtorch was built without oneDNN: convolutions are slow on the CPU", other);
  if (!settings.openMp) warn("this libtorch was built without OpenMP: it computes on one CPU core", other);
  if (threads > cores) warn(`${threads} threads compete for ${cores} CPU cores`, `set NUDGE_THREADS=${cores}`);
  return found;
}

/** A GPU that exists and is not used. */
function gpuProblems({ nvidia, setup: record }: Facts, { settings, builtForCuda, gpus }: Engine): Problem[] {
  if (!nvidia) return [];
  const warn = (what: string, remedy: string): Problem[] => [{ severity: "warning", what, remedy }];
  if (!settings.cuda && !builtForCuda && !record?.cudaProblem)
    return warn(
      "this machine has an NVIDIA GPU, but this libtorch was built without CUDA",
      `pip install torch, then ${again}`,
    );
  if (!builtForCuda)
    return warn(
      `the addon was built without CUDA: ${record?.cudaProblem ?? "its headers were not found"}`,
      `install the CUDA toolkit or set CUDA_HOME, then ${again}`,
    );
  if (gpus.length === 0)
    return warn(
      "libtorch sees no GPU, though the NVIDIA driver is loaded",
      "check nvidia-smi and CUDA_VISIBLE_DEVICES",
    );
  return [];
}
