/** Writes a new folder completely or not at all: its files are written beside it, and the folder is renamed at the end. */

import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { notWritten } from "../files/replace-file.js";

/** Writes the folder by `fill`, and returns the names of its files. The folder must not exist or be empty. */
export function makeFolder(path: string, fill: (folder: string) => void): string[] {
  const folder = resolve(path);
  checkFree(folder, path);
  const beside = join(dirname(folder), `.${basename(folder)}.${randomUUID()}.tmp`);
  try {
    mkdirSync(beside);
    fill(beside);
    const files = readdirSync(beside, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(beside, join(entry.parentPath, entry.name)))
      .sort();
    publish(beside, folder);
    return files;
  } catch (cause) {
    rmSync(beside, { recursive: true, force: true });
    const isOurs = cause instanceof UsageError || cause instanceof DataError;
    throw isOurs || !(cause as NodeJS.ErrnoException).code ? cause : notWritten(path, cause as NodeJS.ErrnoException);
  }
}

function checkFree(folder: string, path: string): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR")
      throw new UsageError(`--out ${path} is a file; this format writes a folder: choose another name`);
    throw notWritten(path, error as NodeJS.ErrnoException);
  }
  if (names.length > 0)
    throw new UsageError(
      `--out ${path}: the folder is not empty, and nothing in it is replaced; choose another name, or remove it`,
    );
}

/** Moves the finished folder to its place. */
function publish(beside: string, folder: string): void {
  try {
    rmdirSync(folder); // only an empty one
  } catch {
    // there is none, or the rename below reports what is wrong
  }
  renameSync(beside, folder);
}
