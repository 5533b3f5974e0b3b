/**
 * Gets published weights from their publisher, from a mirror (`$NUDGE_WEIGHTS_MIRROR`, a URL under which files have the
 * publishers' names), or from a file on this machine. The hash is always checked.
 */
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { difference, measureFile } from "../download/checksum.js";
import { type Downloaded, type DownloadOptions, download } from "../download/download.js";
import { downloadsForbidden } from "../download/permission.js";
import { isUrl } from "../download/request.js";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { weightsFolder } from "./find-weights.js";
import { fileOf, type PublishedWeights } from "./published-weights.js";

/** Returns the download URL of weights. */
export function addressOf(weights: PublishedWeights): string {
  const mirror = process.env.NUDGE_WEIGHTS_MIRROR;
  if (!mirror) return weights.url;
  if (!isUrl(mirror))
    throw new UsageError(
      `$NUDGE_WEIGHTS_MIRROR is ${mirror}: expected an address that begins with https:// or http://`,
    );
  return `${mirror.replace(/\/+$/, "")}/${fileOf(weights)}`;
}

/** Downloads weights to the weights folder. */
export async function getWeights(weights: PublishedWeights, options: DownloadOptions = {}): Promise<Downloaded> {
  const path = join(weightsFolder(), fileOf(weights));
  if (downloadsForbidden())
    throw new UsageError(
      `NUDGE_NO_DOWNLOAD is set, so ${fileOf(weights)} is not downloaded. Copy it from ${weights.url} to ${weightsFolder()} by other means, or unset the variable`,
    );
  const again = `nudge weights get ${weights.name}`;
  try {
    return await download({ url: addressOf(weights), sha256: weights.sha256 }, path, { again, ...options });
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DataError(
      `${error.message}\n  without a network: download ${weights.url} elsewhere, and copy it to ${weightsFolder()}, or: nudge weights get ${weights.name} --from FILE`,
      { cause: error },
    );
  }
}

/** Copies weights from a file on this machine to the weights folder if their hash is the published one. */
export async function takeWeights(weights: PublishedWeights, file: string): Promise<Downloaded> {
  const found = await measureFile(file).catch((cause: Error) => {
    throw new DataError(`${file}: could not be read: ${cause.message}`, { cause });
  });
  const wrong = difference(found, weights);
  if (wrong) throw new DataError(`${file} is not the published ${fileOf(weights)} of ${weights.name}: ${wrong}`);
  const path = join(weightsFolder(), fileOf(weights));
  makeFolder(weightsFolder());
  const beside = join(weightsFolder(), `.${fileOf(weights)}.${process.pid}.tmp`);
  try {
    copyFileSync(file, beside);
    renameSync(beside, path);
  } catch (cause) {
    rmSync(beside, { force: true });
    throw new DataError(`copying ${file} to ${path}: ${(cause as Error).message}`, { cause });
  }
  return { path, already: false, ...found };
}
