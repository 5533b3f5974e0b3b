/** Offers to download pretrained weights that a command needs and that are not on this machine. */

import { MissingWeights, weightsFolder } from "../backbones/find-weights.js";
import { addressOf, getWeights } from "../backbones/get-weights.js";
import { fileOf, type PublishedWeights } from "../backbones/published-weights.js";
import { shownUrl } from "../download/request.js";
import { byteText } from "../files/byte-text.js";
import { mayDownload } from "./ask.js";
import { downloadProgress } from "./download-progress.js";

/** Runs some work. If weights are missing and may be downloaded, downloads them and runs it again. */
export async function withWeights<T>(work: () => Promise<T>, yes?: boolean): Promise<T> {
  for (const offered = new Set<string>(); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof MissingWeights) || offered.has(error.weights.name)) throw error;
      offered.add(error.weights.name);
      if (!(await mayDownload(yes, "Download them now?", offerText(error.weights)))) throw error;
      await fetchWeights(error.weights);
    }
  }
}

/** Downloads weights with a progress bar and prints where they are. */
export async function fetchWeights(weights: PublishedWeights): Promise<string> {
  const progress = downloadProgress(fileOf(weights));
  progress.onNote(`downloading ${shownUrl(addressOf(weights))}`);
  try {
    const { path, bytes, sha256, already } = await getWeights(weights, progress);
    progress.onNote(`${already ? "already there" : "saved"}: ${path} (${byteText(bytes)}, SHA-256 ${sha256})`);
    return path;
  } finally {
    progress.end();
  }
}

/** The text of the offer. */
export function offerText(weights: PublishedWeights): string {
  const size = weights.mebibytes === undefined ? "" : `, ${byteText(weights.mebibytes * 2 ** 20)}`;
  const accuracy = weights.top1 === undefined ? "" : `, ${weights.top1} % top-1`;
  return [
    `This command needs pretrained weights for ${weights.backbone}, which are not on this machine.`,
    `  weights  ${weights.name}: ${weights.title}${size}`,
    `  trained  on ${weights.trainedOn}${accuracy}`,
    `  from     ${shownUrl(addressOf(weights))}`,
    `  to       ${weightsFolder()}`,
    `  licence  ${weights.licence}`,
    "",
  ].join("\n");
}
