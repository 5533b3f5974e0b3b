/**
 * A fingerprint of a dataset's samples with their labels, so that runs on different copies of it are distinguished.
 * Pictures are not decoded (pictures-hash.ts). For large datasets the fingerprint is kept in the user's cache, and
 * computed again if the size or a time of any file has changed. Arrays are hashed by their labels and some samples.
 */

import { createHash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { textHash } from "../files/canonical-json.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import type { ArrayDataset, Dataset, PictureDataset } from "./dataset.js";
import { evenlyChosen } from "./evenly-chosen.js";
import { picturesHash } from "./pictures-hash.js";

/** The number of pictures from which on the fingerprint is kept: fewer are read faster than the cache is checked. */
const MANY = 2_000;

/** The number of samples of an array domain that are hashed. */
const SAMPLES = 64;

/** Returns 16 hexadecimal digits. */
export function samplesHash(dataset: Dataset): string {
  if (dataset.kind === "arrays") return arraysHash(dataset);
  const count = dataset.domains.reduce((sum, { files }) => sum + files.length, 0);
  return count < MANY ? picturesHash(dataset) : keptHash(dataset);
}

function arraysHash({ domains }: ArrayDataset): string {
  const hash = createHash("sha256");
  for (const { name, count, labels, read } of domains) {
    hash
      .update(`${JSON.stringify(name)} ${count}\n`)
      .update(new Uint8Array(labels.buffer, labels.byteOffset, labels.byteLength));
    for (const i of evenlyChosen(
      Array.from({ length: count }, (_, place) => place),
      SAMPLES,
    )) {
      const sample = read(i);
      hash.update(new Uint8Array(sample.buffer, sample.byteOffset, sample.byteLength));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/** The fingerprint in the user's cache if all files have the sizes and times of then. A cache that cannot be used is not an error. */
function keptHash(dataset: PictureDataset): string {
  const stamp = stampOf(dataset);
  const path = join(cacheHome(), "nudge", "fingerprints", `${textHash(realpathSync(dataset.root))}-${dataset.id}.json`);
  try {
    const kept = JSON.parse(readText(path)) as { stamp?: unknown; hash?: unknown };
    if (kept.stamp === stamp && typeof kept.hash === "string" && /^[0-9a-f]{16}$/.test(kept.hash)) return kept.hash;
  } catch {
    // There is none yet.
  }
  const hash = picturesHash(dataset);
  try {
    makeFolder(dirname(path));
    replaceFile(path, (write) => write(Buffer.from(`${JSON.stringify({ stamp, hash })}\n`)));
  } catch {
    // There is no home folder, or it is read-only.
  }
  return hash;
}

/** A hash of the names, labels, sizes and times of all files. The time of the last change of an inode cannot be set by a program. */
function stampOf({ root, domains }: PictureDataset): string {
  const hash = createHash("sha256");
  for (const { name, files, labels } of domains) {
    hash.update(`${JSON.stringify(name)}\n`);
    for (const [i, file] of files.entries()) {
      const stat = statSync(resolve(root, file), { throwIfNoEntry: false });
      hash.update(`${labels[i]} ${file} ${stat?.size} ${stat?.mtimeMs} ${stat?.ctimeMs} ${stat?.ino}\n`);
    }
  }
  return hash.digest("hex");
}
