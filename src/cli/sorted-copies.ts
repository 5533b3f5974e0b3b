/** `predict --copy-to`: copies pictures into folders named after the predicted class, and into `unknown`. */

import { constants } from "node:fs";
import { copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";

/** The folder for pictures that are far from training or too uncertain. */
export const UNKNOWN_FOLDER = "unknown";

export class SortedCopies {
  private readonly folders: ReadonlyMap<string, string>;
  private readonly made = new Set<string>();
  /** The number of copied files. */
  count = 0;
  /** The number of pictures that were already there, with the same bytes. */
  present = 0;
  /** The files that this process has written. They are no reason to skip a picture with the same name and bytes. */
  private readonly written = new Set<string>();

  /** Throws if two classes would share a folder. */
  constructor(
    private readonly root: string,
    classes: readonly string[],
  ) {
    const names = new Map<string, string>([[UNKNOWN_FOLDER, ""]]);
    for (const name of classes) {
      const folder = folderName(name);
      const other = names.get(folder.toLowerCase());
      if (other !== undefined)
        throw new UsageError(
          `--copy-to: the pictures of class "${name}" would be copied to the folder "${folder}", which is for ${other === "" ? "unknown pictures" : `class "${other}"`}; use --out and sort the pictures with that file`,
        );
      names.set(folder.toLowerCase(), name);
    }
    this.folders = new Map(classes.map((name) => [name, folderName(name)]));
  }

  /**
   * Copies one picture. An existing file is never replaced, and a picture that an earlier command copied is not copied again.
   */
  async add(input: string | Uint8Array, name: string, label: string | null): Promise<void> {
    const folder = join(this.root, label === null ? UNKNOWN_FOLDER : this.folders.get(label)!);
    if (!this.made.has(folder)) makeFolder(folder);
    this.made.add(folder);
    const [ending, file] = [extname(name), basename(name)];
    for (let n = 1; ; n++) {
      const place = join(folder, n === 1 ? file : `${basename(file, ending)}-${n}${ending}`);
      try {
        if (typeof input === "string") await copyFile(input, place, constants.COPYFILE_EXCL);
        else await writeFile(place, input, { flag: "wx" });
        this.count++;
        this.written.add(place);
        return;
      } catch (cause) {
        const { code, message } = cause as NodeJS.ErrnoException;
        if (code !== "EEXIST") throw new DataError(`--copy-to: ${place} could not be written: ${message}`, { cause });
        if (!this.written.has(place) && (await isSame(input, place))) {
          this.written.add(place);
          this.present++;
          return;
        }
      }
    }
  }
}

/** Whether a file has the bytes of a picture. */
async function isSame(input: string | Uint8Array, place: string): Promise<boolean> {
  try {
    const size = typeof input === "string" ? (await stat(input)).size : input.length;
    if ((await stat(place)).size !== size) return false;
    const [bytes, other] = await Promise.all([typeof input === "string" ? readFile(input) : input, readFile(place)]);
    return Buffer.compare(bytes, other) === 0;
  } catch {
    return false; // it cannot be read, such as a folder of that name
  }
}

/** The name of a class as a folder name that is valid on any system and cannot point anywhere else. */
const folderName = (name: string): string =>
  name
    .replace(/[/\\:*?"<>|\p{C}]+/gu, "_")
    .replace(/^\.+|[. ]+$/g, "_")
    .slice(0, 100) || "_";
