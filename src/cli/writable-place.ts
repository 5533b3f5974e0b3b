/**
 * Checks whether an output can be written where it was requested, before any work is done and not after hours of it. It
 * leaves nothing behind, not even the requested folder.
 */

import { randomUUID } from "node:crypto";
import { closeSync, openSync, rmSync, type Stats, statSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DataError, UsageError } from "../errors.js";

/** The smallest size that a disk allocates to a file. */
const BLOCK = new Uint8Array(4096);

/** Rejects a folder that cannot be created or written to. `option` is the option that requested it. */
export function checkFolder(path: string, option = "--out"): void {
  checkNotEmpty(path, option, "folder", "such as runs; a dot is the current folder");
  let there = resolve(path);
  let found = statOf(there);
  for (; !found && there !== dirname(there); found = statOf(there)) there = dirname(there);
  if (found && !found.isDirectory())
    throw new DataError(`${option} ${path}: ${there} is not a folder. Choose another path`);
  tryToWrite(there, `${option} ${path}`);
}

/** Rejects a file that cannot be written: its folder must exist. */
export function checkFile(path: string, option = "--out"): void {
  checkNotEmpty(path, option, "file", `or remove ${option}`);
  const requested = `${option} ${path}`;
  const folder = dirname(resolve(path));
  const found = statOf(path);
  if (found?.isDirectory())
    throw new DataError(`${requested}: this is a folder, but a file name is needed, such as ${join(path, "NAME")}`);
  // Like every output file it would be replaced: /dev/stdout by a file of that name.
  if ((found && !found.isFile()) || folder === "/dev")
    throw new DataError(
      `${requested}: this is a device or pipe, but a file is needed. Remove ${option} to print to the terminal`,
    );
  const above = statOf(folder);
  if (!above?.isDirectory())
    throw new DataError(
      `${requested}: could not be written: ${above ? `${dirname(path)} is not a folder` : `there is no folder ${dirname(path)}. Create it first`}`,
    );
  tryToWrite(folder, requested);
}

/** An empty text is often a variable of the shell that is not set. */
function checkNotEmpty(path: string, option: string, kind: "file" | "folder", advice: string): void {
  if (path === "")
    throw new UsageError(`${option}: expected the name of a ${kind}, got an empty text. Give a name, ${advice}`);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function tryToWrite(folder: string, requested: string): void {
  const probe = join(folder, `.nudge-${randomUUID()}.tmp`);
  try {
    const fd = openSync(probe, "wx");
    try {
      writeSync(fd, BLOCK);
    } finally {
      closeSync(fd);
      rmSync(probe, { force: true });
    }
  } catch (cause) {
    throw new DataError(
      `${requested}: nothing can be written in ${folder}: ${reason(cause as NodeJS.ErrnoException)}`,
      {
        cause,
      },
    );
  }
}

/** The reason given by the system, without the name of the file that was tried, and what to do. */
function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOSPC" || code === "EDQUOT") return `${plain(message)}. Free some disk space, or choose another path`;
  if (code === "ENOENT") return `the system does not allow files there (ENOENT). Choose another path`;
  return `${plain(message)}. Choose another path`;
}

/** `EROFS: read-only file system`, of `EROFS: read-only file system, open '/x/.nudge-…'` */
const plain = (message: string): string => message.replace(/, (open|write|close)\b.*$/, "");
