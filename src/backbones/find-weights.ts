/**
 * Where starting weights are looked for: the file asked for, then `$NUDGE_WEIGHTS`, then the cache folder, then where
 * torchvision keeps what it has downloaded.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { cacheHome } from "../data/cache-location.js";
import { UsageError } from "../errors.js";
import { backboneNamed } from "./index.js";

const ENDINGS = ["safetensors", "pth"] as const;

/** What torchvision calls its files of the weights IMAGENET1K_V1; the later ones are others. */
const TORCHVISION: Readonly<Record<string, string>> = {
  resnet18: "resnet18-f37072fd.pth",
  resnet34: "resnet34-b627a593.pth",
  resnet50: "resnet50-0676ba61.pth",
  mobilenet_v2: "mobilenet_v2-b0353104.pth",
};

/** The folder that PyTorch downloads to: under `$TORCH_HOME`, or in the cache. */
const torchFolder = (): string => join(process.env.TORCH_HOME || join(cacheHome(), "torch"), "hub", "checkpoints");

/** The folder that holds `<backbone>.safetensors` or `<backbone>.pth`: `~/.cache/nudge/weights`, or under `$XDG_CACHE_HOME`. */
export function weightsFolder(): string {
  return join(cacheHome(), "nudge", "weights");
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
  const found = inFolder(folder, id) ?? ofTorchvision(id);
  if (found) return found;
  throw new UsageError(
    `no trained weights for ${id}: no file was named (--weights FILE), $NUDGE_WEIGHTS is not set, and ${folder} has no ` +
      `${id}.${ENDINGS.join(` or ${id}.`)}. Take ${weights}, and put it there${downloadWords(id)}`,
  );
}

/** What torchvision has downloaded, where it has. */
function ofTorchvision(id: string): string | undefined {
  const path = Object.hasOwn(TORCHVISION, id) ? join(torchFolder(), TORCHVISION[id]) : undefined;
  return path !== undefined && kindOf(path) === "file" ? path : undefined;
}

/** How somebody with torchvision gets a backbone's weights to where they are found; empty for those it does not have. */
export const downloadWords = (id: string): string =>
  Object.hasOwn(TORCHVISION, id)
    ? `; with Python's torchvision, this downloads it to where it is found: python3 -c "import torchvision; torchvision.models.${id}(weights='IMAGENET1K_V1')"`
    : "";

function inFolder(folder: string, id: string): string | undefined {
  return ENDINGS.map((ending) => join(folder, `${id}.${ending}`)).find((path) => kindOf(path) === "file");
}

function kindOf(path: string): "file" | "folder" | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && (stat.isDirectory() ? "folder" : "file");
}
