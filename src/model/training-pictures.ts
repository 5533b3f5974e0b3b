/**
 * The pictures that a model was trained on, stored in its run folder, so that an evaluation notices them in any other
 * folder: copies by the hash of the file, and near-duplicates by the signature that the split uses too. The file has
 * gray thumbnails of 16 × 16 pixels, so it is not a part of the model file, which may be published.
 */

import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import * as v from "valibot";
import type { Judged } from "../analysis/judged.js";
import type { PictureDataset } from "../data/dataset.js";
import { alike, type Vectors, vectorsOf } from "../data/near-duplicates.js";
import { CELLS } from "../data/picture-signature.js";
import { type SignatureOptions, signaturesOf } from "../data/picture-signatures.js";
import type { DomainSplit, Split } from "../data/split.js";
import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { parseStored, type Schema } from "../files/stored-json.js";

export const TRAINING_PICTURES_FILE = "training-pictures.json";

/** The bytes of a hash and of a signature: one byte per cell is enough to find the same near-duplicates. */
const HASH_BYTES = 8;
const SIGNATURE_BYTES = 2 * CELLS;

export interface TrainingPictures {
  readonly format: 1;
  /** The class of each picture, by its place in the model's list. */
  readonly labels: readonly number[];
  /** The hashes of the files and the signatures, in the same order, in base64. */
  readonly hashes: string;
  readonly signatures: string;
}

const PLACE = "a whole number of at least 0";
const schema: Schema<TrainingPictures> = v.looseObject({
  format: v.literal(1, "1"),
  labels: v.array(v.pipe(v.number(PLACE), v.integer(PLACE), v.minValue(0, PLACE)), "a list of the places of classes"),
  hashes: v.string("text"),
  signatures: v.string("text"),
});

/** Creates the file contents for a model. Pictures that cannot be decoded are skipped. */
export async function trainingPicturesOf(
  dataset: PictureDataset,
  split: Split,
  settings: { readonly testDomains: readonly string[]; readonly refit?: boolean },
): Promise<TrainingPictures> {
  const places = dataset.domains
    .filter(({ name }) => !settings.testDomains.includes(name))
    .flatMap(({ name, files, labels }) =>
      trainedPlaces(split.get(name)!, settings).map((i) => ({ file: files[i], label: labels[i] })),
    );
  const found = await signaturesOf(
    dataset,
    places.map(({ file }) => file),
  );
  const kept = places.filter(({ file }) => found.has(file));
  const hashes = Buffer.alloc(HASH_BYTES * kept.length);
  const signatures = Buffer.alloc(SIGNATURE_BYTES * kept.length);
  for (const [i, { file }] of kept.entries()) {
    const { content, cells } = found.get(file)!;
    hashes.write(hashOf(content), HASH_BYTES * i, "hex");
    for (const [j, value] of cells.entries())
      signatures[SIGNATURE_BYTES * i + j] = Math.min(255, Math.round(value / 256));
  }
  return {
    format: 1,
    labels: kept.map(({ label }) => label),
    hashes: hashes.toString("base64"),
    signatures: signatures.toString("base64"),
  };
}

/** The training pictures of a domain. For an exact probe that was fitted again, this includes the validation pictures. */
export const trainedPlaces = (
  parts: DomainSplit,
  settings: { readonly refit?: unknown; readonly trainOnAll?: unknown },
): readonly number[] =>
  settings.refit === true || settings.trainOnAll === true ? [...new Set([...parts.in, ...parts.out])] : parts.in;

const hashOf = (content: string): string => content.slice(0, 2 * HASH_BYTES);

/** The training pictures of a model, from its run folder; undefined if they were not stored. */
export function readTrainingPictures(model: string): TrainingPictures | undefined {
  const folder = statSync(model).isDirectory() ? model : dirname(model);
  const path = join(folder, TRAINING_PICTURES_FILE);
  if (!existsSync(path)) return undefined;
  const found = parseStored(schema, readText(path), { path, what: "training pictures", format: 1 });
  const counts = [
    Buffer.byteLength(found.hashes, "base64") / HASH_BYTES,
    Buffer.byteLength(found.signatures, "base64") / SIGNATURE_BYTES,
  ];
  if (counts.some((count) => count !== found.labels.length))
    throw new DataError(`${path}: expected a hash and a signature for each of ${found.labels.length} pictures`);
  return found;
}

/** The names of evaluated pictures that a model was trained on, and of near-duplicates of training pictures. */
export interface SeenPictures {
  readonly copies: ReadonlySet<string>;
  readonly nearDuplicates: ReadonlySet<string>;
}

/** Finds the training pictures among evaluated ones. Near-duplicates are searched in the class of a picture. */
export async function seenPictures(
  training: TrainingPictures,
  dataset: PictureDataset,
  pictures: readonly Pick<Judged, "name" | "label">[],
  options: SignatureOptions = {},
): Promise<SeenPictures> {
  const hashes = Buffer.from(training.hashes, "base64");
  const known = new Set(training.labels.map((_, i) => hashes.toString("hex", HASH_BYTES * i, HASH_BYTES * (i + 1))));
  const byClass = vectorsByClass(training);
  const names = pictures.map(({ name }) => name);
  const signatures = await signaturesOf(dataset, names, options);
  const seen = { copies: new Set<string>(), nearDuplicates: new Set<string>() };
  for (const { name, label } of pictures) {
    const signature = signatures.get(name);
    if (!signature) continue;
    if (known.has(hashOf(signature.content))) {
      seen.copies.add(name);
      continue;
    }
    const vectors = vectorsOf(signature.cells);
    if (vectors && byClass.get(label)?.some((each) => alike(vectors, each) !== null)) seen.nearDuplicates.add(name);
  }
  return seen;
}

function vectorsByClass({ labels, signatures }: TrainingPictures): Map<number, Vectors[]> {
  const bytes = Buffer.from(signatures, "base64");
  const byClass = new Map<number, Vectors[]>();
  for (const [i, label] of labels.entries()) {
    const cells = Uint16Array.from(
      bytes.subarray(SIGNATURE_BYTES * i, SIGNATURE_BYTES * (i + 1)),
      (value) => 256 * value,
    );
    const vectors = vectorsOf(cells);
    const known = byClass.get(label);
    if (vectors && known) known.push(vectors);
    else if (vectors) byClass.set(label, [vectors]);
  }
  return byClass;
}
