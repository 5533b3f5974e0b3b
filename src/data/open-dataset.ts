/** Opens a dataset by its name, or by the path of a folder or manifest. */
import { type Stats, statSync } from "node:fs";
import { unknownName } from "../closest-name.js";
import { DataError, UsageError } from "../errors.js";
import type { Given } from "../options.js";
import type { Dataset } from "./dataset.js";
import { emoji } from "./datasets/emoji.js";
import type { FolderBenchmark } from "./datasets/folder-benchmark.js";
import { imageFolder } from "./datasets/image-folder.js";
import { datasets, findDataset, folderBenchmarks, tableBenchmarks } from "./datasets/index.js";
import { manifest } from "./datasets/manifest.js";
import { findMnist } from "./datasets/mnist-files.js";
import { hasSpawrious, spawrious } from "./datasets/spawrious.js";
import { type FoundFolder, findDomainFolders, foldersIn, plainName } from "./discover.js";
import { isManifestName } from "./manifest.js";
import { showName } from "./show-name.js";

export interface OpenOptions {
  /** The folder of a named dataset, or one above it. */
  root?: string;
  /** Options of the dataset (`size`, `seed`, …), typed or as strings. The others have their defaults. */
  options?: Given;
}

/**
 * Opens a dataset by name (`pacs` with its root; `shapes`) or by path: a folder with a benchmark, a folder of pictures,
 * or a manifest.
 *
 * @example await openDataset("pacs", { root: "data" }); await openDataset("my/pictures"); await
 * openDataset("list.csv");
 */
export async function openDataset(nameOrPath: string, { root, options = {} }: OpenOptions = {}): Promise<Dataset> {
  const named = findDataset(nameOrPath);
  const there = statSync(nameOrPath, { throwIfNoEntry: false });
  // A folder that happens to be called "pacs" is used as a folder, unless a root is given.
  if (named && (root !== undefined || !there || !named.needsRoot)) return named.open({ root: root ?? null, options });
  if (!there) {
    const known = /[/\\.]/.test(nameOrPath)
      ? `there is no folder or file ${showName(nameOrPath)}`
      : `${unknownName("dataset", nameOrPath, Object.keys(datasets))}, and there is no folder or file with this name`;
    throw new UsageError(known);
  }
  if (root !== undefined)
    throw new UsageError(
      `dataset ${showName(nameOrPath)}: it is a path, so it cannot have a root; remove ${showName(root)}`,
    );
  return openPath(nameOrPath, there, options);
}

async function openPath(path: string, there: Stats, options: Given): Promise<Dataset> {
  if (there.isFile()) {
    if (!isManifestName(path))
      throw new DataError(
        `dataset ${showName(path)}: expected a folder or a manifest (.csv, .jsonl), got another kind of file; see nudge data --help`,
      );
    return manifest.open({ root: path, options });
  }
  const benchmark = await recognise(path);
  if (benchmark) return benchmark.open({ root: path, options });
  for (const definition of [...tableBenchmarks, emoji])
    if (await definition.isIn(path)) return definition.open({ root: path, options });
  if (await hasSpawrious(path))
    throw new DataError(
      `folder ${showName(path)} contains the pictures of Spawrious, from which six datasets are made: choose one of ${spawrious.map(({ id }) => id).join(", ")}, with this folder as root`,
    );
  const mnist = findMnist(path);
  if (mnist)
    throw new DataError(
      `folder ${showName(mnist.folder)} contains MNIST's files, from which two datasets are made: choose rotated-mnist or colored-mnist, with this folder as root`,
    );
  return imageFolder.open({ root: path, options });
}

/** The benchmark in a folder, by the names of its domains and classes; undefined if there is none. */
export async function recognise(root: string): Promise<FolderBenchmark | undefined> {
  const found = await findDomainFolders(
    root,
    folderBenchmarks.map(({ published }) => published.domains),
  );
  const held: FolderBenchmark[] = [];
  for (const [i, benchmark] of folderBenchmarks.entries()) {
    const candidate = found[i].find(({ domains }) => !domains.includes(undefined));
    if (candidate && (await hasItsClasses(candidate, benchmark))) held.push(benchmark);
  }
  if (held.length > 1)
    throw new DataError(
      `folder ${showName(root)} contains several datasets (${held.map(({ id }) => id).join(", ")}): choose one, with this folder as root`,
    );
  return held[0];
}

/**
 * Whether the first domain has the classes of the benchmark. Otherwise folders called "art" and "real" could be
 * anything.
 */
async function hasItsClasses(
  { path, domains }: FoundFolder,
  { published, parts = [] }: FolderBenchmark,
): Promise<boolean> {
  let folder = `${path}/${domains[0]}`;
  let names = await foldersIn(folder);
  const between = names.find((name) => names.length === 1 || parts.includes(plainName(name)));
  if (between !== undefined) {
    folder = `${folder}/${between}`;
    names = await foldersIn(folder);
  }
  const classes = new Set(names.map(plainName));
  if (typeof published.classes === "number") return classes.size === published.classes;
  return published.classes.every((name) => classes.has(plainName(name)));
}
