/**
 * Whether something can be written where it was asked for: told before any work is done, and not after hours of it. Leaves
 * nothing behind, not even the folder that was asked for.
 */

import { randomUUID } from "node:crypto";
import { closeSync, openSync, rmSync, type Stats, statSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DataError } from "../errors.js";

/** As little as a disk gives to a file. */
const BLOCK = new Uint8Array(4096);

/** Refuses a folder that cannot be made or written in. `option` is what asked for it. */
export function checkFolder(path: string, option = "--out"): void {
  let there = resolve(path);
  let found = statOf(there);
  for (; !found && there !== dirname(there); found = statOf(there)) there = dirname(there);
  if (found && !found.isDirectory())
    throw new DataError(`${option} ${path}: ${there} is not a folder, and one is needed there. Give another place`);
  tryToWrite(there, `${option} ${path}`);
}

/** Refuses a file that cannot be written: its folder has to be there. */
export function checkFile(path: string, option = "--out"): void {
  const asked = `${option} ${path}`;
  const folder = dirname(resolve(path));
  const found = statOf(path);
  if (found?.isDirectory())
    throw new DataError(
      `${asked}: that is a folder, and a file is to be written. Name it, as in ${join(path, "NAME")}`,
    );
  // It would be replaced, as every file is: /dev/stdout by a file of that name.
  if ((found && !found.isFile()) || folder === "/dev")
    throw new DataError(
      `${asked}: that is a device or pipe, and a file is to be written. Leave ${option} out to print`,
    );
  const above = statOf(folder);
  if (!above?.isDirectory())
    throw new DataError(
      `${asked}: could not be written: ${above ? `${dirname(path)} is not a folder` : `there is no folder ${dirname(path)}. Make it first`}`,
    );
  tryToWrite(folder, asked);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function tryToWrite(folder: string, asked: string): void {
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
    throw new DataError(`${asked}: nothing can be written in ${folder}: ${reason(cause as NodeJS.ErrnoException)}`, {
      cause,
    });
  }
}

/** The system's reason, without the name of the file that was tried, and what to do. */
function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOSPC" || code === "EDQUOT") return `${plain(message)}. Make room, or give another place`;
  if (code === "ENOENT") return `the system keeps that place for itself (ENOENT). Give another place`;
  return `${plain(message)}. Give another place`;
}

/** `EROFS: read-only file system`, of `EROFS: read-only file system, open '/x/.nudge-…'` */
const plain = (message: string): string => message.replace(/, (open|write|close)\b.*$/, "");
