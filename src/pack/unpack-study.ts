/**
 * Unpacks a packed study into the original folders. `tar xzf` does the same without the checks. The files are written
 * next to the destination and renamed at the end, so an interrupted command leaves either the complete study or
 * nothing.
 */

import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { notWritten } from "../files/replace-file.js";
import { syncFolder } from "../files/sync-folder.js";
import { type PackedFiles, PackFile } from "./pack-file.js";

/** Unpacks into a folder that is empty or does not exist. Returns the number of runs and the damaged parts. */
export function unpackStudy(path: string, out: string): { runs: number; notes: readonly string[] } {
  const pack = new PackFile(path);
  const there = statSync(out, { throwIfNoEntry: false });
  if (there && (!there.isDirectory() || readdirSync(out).length > 0))
    throw new UsageError(`unpack: ${out} is there already and is no empty folder. Give another --out`);
  const place = resolve(out);
  const beside = join(dirname(place), `.${basename(place)}.${randomUUID()}.tmp`);
  const folders = new Set<string>([beside]);
  let runs = 0;
  try {
    attempt(out, () => makeFolder(dirname(place)));
    attempt(out, () => mkdirSync(beside));
    for (const run of pack.runs()) {
      write(run, join(beside, run.folder), folders);
      runs++;
    }
    write(pack.study, beside, folders);
    for (const folder of folders) syncFolder(folder);
    attempt(out, () => renameSync(beside, place)); // also replaces an empty folder
  } catch (error) {
    rmSync(beside, { recursive: true, force: true });
    throw error;
  }
  syncFolder(dirname(place));
  return { runs, notes: pack.notes };
}

function write(files: PackedFiles, folder: string, folders: Set<string>): void {
  for (const name of files.all) {
    const path = join(folder, name);
    attempt(path, () => {
      makeFolders(dirname(path), folders);
      const fd = openSync(path, "w");
      try {
        for (const piece of files.pieces(name) ?? [])
          for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      const seconds = files.time(name) / 1000;
      if (seconds > 0) utimesSync(path, seconds, seconds);
    });
  }
}

/** Creates missing folders. They are synced together at the end. */
function makeFolders(folder: string, made: Set<string>): void {
  if (made.has(folder)) return;
  makeFolders(dirname(folder), made);
  mkdirSync(folder);
  made.add(folder);
}

function attempt(path: string, action: () => void): void {
  try {
    action();
  } catch (cause) {
    if (cause instanceof DataError) throw cause; // of the pack
    throw notWritten(path, cause as NodeJS.ErrnoException);
  }
}
