/** Where starting weights are looked for: the file asked for, then `$NUDGE_WEIGHTS`, then the cache folder. */

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../errors.js";
import { backboneNamed } from "./index.js";

const ENDINGS = ["safetensors", "pth"] as const;

/** The folder that holds `<backbone>.safetensors` or `<backbone>.pth`: `~/.cache/nudge/weights`, or under `$XDG_CACHE_HOME`. */
export function weightsFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "nudge", "weights");
}

/**
 * The file of starting weights for a backbone. `explicit` is the file asked for (`--weights`). `$NUDGE_WEIGHTS` names a
 * file, or a folder with a file for each backbone. What was named must be there: nothing else is taken in its place.
 */
export function findWeights(id: string, explicit?: string): string {
  const { weights } = backboneNamed(id);
  if (weights === undefined)
    throw new UsageError(`backbone ${id}: there are no trained weights for it; train it from the start`);
  if (explicit !== undefined) {
    if (kindOf(explicit) === "file") return explicit;
    throw new UsageError(
      `the weights ${explicit} for ${id}: ${kindOf(explicit) ? "a folder, expected a file" : "no such file"}`,
    );
  }
  const variable = process.env.NUDGE_WEIGHTS;
  if (variable) {
    if (kindOf(variable) === "file") return variable;
    const found = inFolder(variable, id);
    if (found) return found;
    const why = kindOf(variable) ? `a folder without ${id}.${ENDINGS.join(` or ${id}.`)}` : "no such file or folder";
    throw new UsageError(`$NUDGE_WEIGHTS is ${variable}: ${why}`);
  }
  const folder = weightsFolder();
  const found = inFolder(folder, id);
  if (found) return found;
  throw new UsageError(
    `no trained weights for ${id}: no file was named (--weights FILE), $NUDGE_WEIGHTS is not set, and ${folder} has no ` +
      `${id}.${ENDINGS.join(` or ${id}.`)}. Take ${weights}, and put it there`,
  );
}

function inFolder(folder: string, id: string): string | undefined {
  return ENDINGS.map((ending) => join(folder, `${id}.${ending}`)).find((path) => kindOf(path) === "file");
}

function kindOf(path: string): "file" | "folder" | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && (stat.isDirectory() ? "folder" : "file");
}
