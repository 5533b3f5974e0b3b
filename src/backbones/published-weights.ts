/**
 * The weights that publishers offer and the program can load, one line each in `data/weights.jsonl`. A name is a backbone's
 * (`resnet50`: the weights it starts from by default) or has a variant behind a dot (`resnet50.v2`).
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Normalization } from "../data/normalization.js";
import { DataError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import type { PositionRule } from "../nn/position-embedding.js";

export interface PublishedWeights {
  readonly name: string;
  /** The backbone they are of. */
  readonly backbone: string;
  /** Which of the publisher's weights they are. */
  readonly title: string;
  readonly url: string;
  /** As the publisher states it, where it does; rounded. */
  readonly mebibytes?: number;
  /** The name the file is kept under, where the publisher's says too little: "model.safetensors". */
  readonly file?: string;
  /** The SHA-256 in hexadecimal, or as many of its first digits as the publisher gives; absent where it gives none. */
  readonly sha256?: string;
  /** Accuracy (%) on ImageNet's validation pictures, as the publisher states it. */
  readonly top1?: number;
  /** What pictures are normalised with; ImageNet's mean and deviation where it is absent. */
  readonly normalization?: Normalization;
  /** Height and width of the pictures it was trained on; 224 where it is absent. */
  readonly size?: number;
  /** What the publisher chose and the file does not say, where it matters. */
  readonly gelu?: GeluKind;
  readonly positions?: PositionRule;
  readonly trainedOn: string;
  readonly licence: string;
  /** Where all this is stated. */
  readonly source: string;
}

let known: readonly PublishedWeights[] | undefined;

/** All of them, in the order of the file. */
export function publishedWeights(): readonly PublishedWeights[] {
  known ??= readLines(new URL("../../data/weights.jsonl", import.meta.url));
  return known;
}

/** Those of this name; undefined where there are none. */
export const publishedWeightsNamed = (name: string): PublishedWeights | undefined =>
  publishedWeights().find((weights) => weights.name === name);

/** The name of the file: as the publisher gives it, but where that says too little. */
export const fileOf = ({ file, url }: PublishedWeights): string => file ?? basename(new URL(url).pathname);

function readLines(file: URL): PublishedWeights[] {
  const texts = ["name", "backbone", "title", "url", "trainedOn", "licence", "source"] as const;
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `${file.pathname}, line ${i + 1}`;
    const entry = JSON.parse(line) as PublishedWeights;
    for (const name of texts)
      if (typeof entry[name] !== "string" || entry[name] === "")
        throw new DataError(`${where}: expected "${name}" to be text, got ${JSON.stringify(entry[name])}`);
    if (entry.sha256 !== undefined && !/^[0-9a-f]{8,64}$/.test(entry.sha256))
      throw new DataError(`${where}: expected 8 to 64 hexadecimal digits as "sha256", got "${entry.sha256}"`);
    return [entry];
  });
}
