/** Unpacks a packed study into the folders it was made from: `tar xzf` does the same, without the checks. */

import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { notWritten } from "../files/replace-file.js";
import { type PackedFiles, PackFile } from "./pack-file.js";

/** Unpacks into a folder that is empty or is not there yet; how many runs it had, and what was damaged. */
export function unpackStudy(path: string, out: string): { runs: number; notes: readonly string[] } {
  const pack = new PackFile(path);
  const there = statSync(out, { throwIfNoEntry: false });
  if (there && (!there.isDirectory() || readdirSync(out).length > 0))
    throw new UsageError(`unpack: ${out} is there already and is no empty folder. Give another --out`);
  let runs = 0;
  for (const run of pack.runs()) {
    write(run, join(out, run.folder));
    runs++;
  }
  write(pack.study, out);
  return { runs, notes: pack.notes };
}

function write(files: PackedFiles, folder: string): void {
  for (const name of files.all) {
    const path = join(folder, name);
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "");
      for (const piece of files.pieces(name) ?? []) writeFileSync(path, piece, { flag: "a" });
      const seconds = files.time(name) / 1000;
      if (seconds > 0) utimesSync(path, seconds, seconds);
    } catch (cause) {
      if (cause instanceof DataError) throw cause; // of the pack
      throw notWritten(path, cause as NodeJS.ErrnoException);
    }
  }
}
