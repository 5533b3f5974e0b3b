/**
 * The pictures below a folder, as a tree in DomainBed's order, and the skipped files.
 *
 * Links are followed, as in DomainBed's loaders, except links to a folder above themselves. Hidden files, files without
 * an extension of a picture, broken links and names that are not UTF-8 are skipped and reported. A folder that cannot
 * be read is an error, because its pictures would be missing without notice.
 */
import { type Dirent, readdir as readdirWithCallback, type Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "../errors.js";
import { byCodePoint } from "./code-point-order.js";
import { readsHeic } from "./decode.js";
import { countOf, listNames, showBytes, showName } from "./show-name.js";

/** A folder: its pictures and subfolders, both sorted. */
export interface Folder {
  /** Empty for the root. */
  readonly name: string;
  /** The path from the root with forward slashes; empty for the root. */
  readonly path: string;
  readonly folders: readonly Folder[];
  /** File names. */
  readonly pictures: readonly string[];
}

/** The content of a folder, and the skipped files. */
export interface FolderTree {
  readonly root: string;
  readonly top: Folder;
  readonly notes: readonly string[];
}

/** The extensions of the reference, and GIF, AVIF, and HEIC if it can be decoded. */
const pictureName = readsHeic
  ? /\.(jpe?g|png|ppm|bmp|pgm|tiff?|webp|gif|avif|heic|heif)$/i
  : /\.(jpe?g|png|ppm|bmp|pgm|tiff?|webp|gif|avif)$/i;

/** Whether a file is a picture, by its name. */
export const isPictureName = (name: string): boolean => pictureName.test(name);

/**
 * Whether a file is a picture that cannot be decoded, by its name: formats that phones and cameras write in addition to
 * JPEG.
 */
const isUnreadName = (name: string): boolean =>
  !isPictureName(name) && /\.(heic|heif|jxl|jp2|j2k|psd|svg|dng|cr2|cr3|nef|arw|raf|orf|rw2)$/i.test(name);

/** Names of system files, which are never data. */
const isHidden = (name: string): boolean => /^\.|^(thumbs\.db|desktop\.ini|__macosx|icon\r)$/i.test(name);

/** The skipped files of the whole tree so far. */
class SkippedFiles {
  hidden = 0;
  readonly others: string[] = [];
  readonly unreadable: string[] = [];
  readonly dangling: string[] = [];
  readonly loops: string[] = [];
  readonly notText: string[] = [];

  notes(): string[] {
    const { hidden, others, unreadable, dangling, loops, notText } = this;
    const notes = hidden === 0 ? [] : [countOf(hidden, "hidden or system file", "hidden or system files and folders")];
    const addNote = (list: string[], one: string, many: string): void => {
      list.sort(byCodePoint); // folders are read concurrently
      if (list.length > 0) notes.push(`${countOf(list.length, one, many)} (${listNames(list, 3)})`);
    };
    addNote(others, "file that is not a picture by its extension", "files that are not pictures by their extensions");
    addNote(
      unreadable,
      "picture in an unsupported format: convert it to JPEG or PNG",
      "pictures in unsupported formats: convert them to JPEG or PNG",
    );
    addNote(dangling, "broken link", "broken links");
    addNote(loops, "link that loops back to a folder above", "links that loop back to a folder above");
    addNote(notText, "name that is not UTF-8 text: rename it", "names that are not UTF-8 text: rename them");
    return notes.map((note) => `skipped: ${note}`);
  }
}

function whyUnreadable(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === "EACCES" || code === "EPERM") return "no permission: allow reading it, or move it away";
  if (code === "ENOENT") return "there is no such folder";
  if (code === "ENOTDIR") return "it is a file, not a folder";
  return message;
}

/** The entries of a folder whose names are valid text. */
async function entriesOf(path: string, shown: string, skipped: SkippedFiles): Promise<Dirent[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (cause) {
    throw new DataError(`reading folder ${showName(path)}: ${whyUnreadable(cause)}`, { cause });
  }
  if (!entries.some(({ name }) => name.includes("\ufffd"))) return entries;
  // Bytes that are not UTF-8 are read as U+FFFD, and such a name cannot be opened, unless the name really contains it.
  const names = await new Promise<Buffer[]>((resolve, reject) =>
    readdirWithCallback(path, { encoding: "buffer" }, (error, found) => (error ? reject(error) : resolve(found))),
  );
  const bad = names.filter((bytes) => !Buffer.from(bytes.toString("utf8")).equals(bytes));
  for (const bytes of bad) skipped.notText.push(shown === "" ? showBytes(bytes) : `${shown}/${showBytes(bytes)}`);
  const unusable = new Set(bad.map((bytes) => bytes.toString("utf8")));
  return entries.filter(({ name }) => !unusable.has(name));
}

/** Follows a link; undefined if its target does not exist. */
async function follow(path: string, shown: string, skipped: SkippedFiles): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") skipped.dangling.push(shown);
    else if (code === "ELOOP") skipped.loops.push(shown);
    else throw new DataError(`following link ${showName(path)}: ${whyUnreadable(cause)}`, { cause });
    return undefined;
  }
}

/** Reads a folder and everything below it. `above` are its parent folders, by device and inode. */
async function readFolder(
  root: string,
  name: string,
  path: string,
  above: readonly string[],
  skipped: SkippedFiles,
): Promise<Folder | undefined> {
  const place = join(root, path);
  let identity: Stats;
  try {
    identity = await stat(place);
  } catch (cause) {
    throw new DataError(`reading folder ${showName(place)}: ${whyUnreadable(cause)}`, { cause });
  }
  const id = `${identity.dev}:${identity.ino}`;
  if (above.includes(id)) {
    skipped.loops.push(path);
    return undefined;
  }
  const pictures: string[] = [];
  const below: Promise<Folder | undefined>[] = [];
  for (const entry of await entriesOf(place, path, skipped)) {
    const inside = path === "" ? entry.name : `${path}/${entry.name}`;
    if (isHidden(entry.name)) {
      skipped.hidden++;
      continue;
    }
    const kind = entry.isSymbolicLink() ? await follow(join(place, entry.name), inside, skipped) : entry;
    if (kind?.isDirectory()) below.push(readFolder(root, entry.name, inside, [...above, id], skipped));
    else if (kind?.isFile() && isPictureName(entry.name)) pictures.push(entry.name);
    else if (kind) (isUnreadName(entry.name) ? skipped.unreadable : skipped.others).push(inside);
  }
  const folders = (await Promise.all(below)).filter((folder) => folder !== undefined);
  return {
    name,
    path,
    folders: folders.sort((a, b) => byCodePoint(a.name, b.name)),
    pictures: pictures.sort(byCodePoint),
  };
}

/** Reads a folder. */
export async function readFolderTree(root: string): Promise<FolderTree> {
  const skipped = new SkippedFiles();
  const top = await readFolder(root, "", "", [], skipped);
  if (!top) throw new DataError(`reading folder ${showName(root)}: it contains itself`); // the root has no parent
  return { root, top, notes: skipped.notes() };
}

/** The number of pictures in a folder and below it. */
export function countPictures(folder: Folder): number {
  return folder.folders.reduce((sum, below) => sum + countPictures(below), folder.pictures.length);
}

/**
 * The paths of all pictures in a folder and below it, in the order of the reference: folders sorted by their full path,
 * and the files of each by name. (This is not the order of the full paths: `a/z.jpg` comes before `a/b/a.jpg`.)
 */
export function picturesUnder(folder: Folder): string[] {
  const folders: Folder[] = [];
  const collect = (each: Folder): void => {
    folders.push(each);
    each.folders.forEach(collect);
  };
  collect(folder);
  folders.sort((a, b) => byCodePoint(a.path, b.path));
  return folders.flatMap(({ path, pictures }) => pictures.map((name) => (path === "" ? name : `${path}/${name}`)));
}
