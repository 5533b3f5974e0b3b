/**
 * The commit of the running program, which every run records. Git is asked before libtorch is loaded: to start a process
 * afterwards waits for the threads of OpenBLAS, and without memory for them it waits for ever.
 */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { readText } from "./open-file.js";

/** The file in a portable archive that names the commit it was made from (scripts/pack-portable.mjs). */
const COMMIT_FILE = "commit.txt";

/** The longest time that Git may take, in milliseconds. */
const MOST_MS = 10_000;

let asked: Promise<string | null> | undefined;

/** Begins to find the commit. Called before libtorch is loaded. */
export function askProgramCommit(): void {
  asked ??= commitOf(fileURLToPath(new URL("../../", import.meta.url)));
}

/** The commit of this program, or null if it was installed from a package. Asked once: the program is loaded. */
export function programCommit(): Promise<string | null> {
  askProgramCommit();
  return asked!;
}

/** The commit of a program in a folder: of the clone, or of the clone that a portable archive was made from. */
export async function commitOf(folder: string): Promise<string | null> {
  try {
    return readText(`${folder}/${COMMIT_FILE}`).trim() || null;
  } catch {
    // not from an archive
  }
  const git = (...args: string[]): Promise<string> =>
    new Promise((done, fail) => {
      execFile("git", args, { cwd: folder, timeout: MOST_MS }, (error, stdout) =>
        error ? fail(error) : done(stdout.trim()),
      );
    });
  try {
    const [own, commit] = await Promise.all([
      git("ls-files", "package.json"),
      git("describe", "--always", "--dirty", "--abbrev=12"),
    ]);
    return own === "" ? null : commit;
  } catch {
    return null; // no clone, or no Git
  }
}
