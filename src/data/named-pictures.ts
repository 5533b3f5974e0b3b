/**
 * The pictures that a command line names: files, folders, patterns such as `new/*.jpg` that the shell did not expand,
 * lists of paths (`@list.txt`), and `-` for standard input, which is a list of paths or the bytes of one picture.
 */

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { readBytesLater } from "../files/open-file.js";
import { byCodePoint } from "./code-point-order.js";
import { isPictureName, picturesUnder, readFolderTree } from "./folder-tree.js";
import { formatOf } from "./picture-header.js";
import { showName } from "./show-name.js";

/** A picture: its path, or its bytes if it came from standard input. */
export interface NamedPicture {
  readonly name: string;
  readonly input: string | Uint8Array;
}

export interface NamedPictures {
  readonly pictures: readonly NamedPicture[];
  /** Skipped files, as text. */
  readonly notes: readonly string[];
}

/** Finds the pictures in the order in which they are named. */
export async function findPictures(given: readonly string[], readInput = readStandardInput): Promise<NamedPictures> {
  const pictures: NamedPicture[] = [];
  const notes: string[] = [];
  const add = (path: string): void => void pictures.push({ name: path, input: path });
  const addPath = async (path: string): Promise<void> => {
    const there = await stat(path).catch(() => undefined);
    if (!there && isPattern(path)) return (await matching(path)).forEach(add);
    if (!there) throw new UsageError(`there is no picture or folder ${showName(path)}`);
    if (!there.isDirectory()) return add(path);
    const tree = await readFolderTree(path);
    for (const inside of picturesUnder(tree.top)) add(join(path, inside));
    notes.push(...tree.notes.map((note) => `${showName(path)}: ${note}`));
  };
  for (const path of given) {
    if (path === "-") {
      const bytes = await readInput();
      if (formatOf(bytes.subarray(0, 256))) pictures.push({ name: "standard input", input: bytes });
      else for (const line of linesOf(bytes)) await addPath(line);
    } else if (path.startsWith("@") && !(await stat(path).catch(() => undefined)))
      for (const line of linesOf(await readList(path.slice(1)))) await addPath(line);
    else await addPath(path);
  }
  if (pictures.length === 0) throw new UsageError(`no picture was found in ${given.map(showName).join(", ")}`);
  return { pictures, notes };
}

async function readList(path: string): Promise<Uint8Array> {
  try {
    return await readBytesLater(path);
  } catch (cause) {
    throw new DataError(`the list ${showName(path)} could not be read: ${(cause as Error).message}`, { cause });
  }
}

async function readStandardInput(): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/**
 * The paths of a list, one per line, or separated by zero bytes, as `find -print0` writes them. Empty lines are
 * skipped.
 */
function linesOf(bytes: Uint8Array): string[] {
  const text = Buffer.from(bytes)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  return (text.includes("\0") ? text.split("\0") : text.split(/\r?\n/)).filter((line) => line !== "");
}

/** Whether a path that does not exist looks like a pattern. */
const isPattern = (path: string): boolean => /[*?[{]/.test(path);

/** The pictures that match a pattern: `*` and `?` within a name, `**` across folders, `[ab]`, `{jpg,png}`. */
async function matching(pattern: string): Promise<string[]> {
  const parts = pattern.split("/");
  const fixed = parts.findIndex(isPattern);
  const root = parts.slice(0, fixed).join("/") || (pattern.startsWith("/") ? "/" : ".");
  const names = await readdir(root, { recursive: parts.length - fixed > 1 || pattern.includes("**") }).catch(() => []);
  const wanted = patternExpression(parts.slice(fixed).join("/"));
  const found = names
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => wanted.test(name) && isPictureName(name))
    .sort(byCodePoint);
  if (found.length === 0) throw new UsageError(`no picture matches ${showName(pattern)}`);
  return found.map((name) => (fixed === 0 ? name : join(root, name)));
}

/** Converts a pattern to a regular expression for paths with forward slashes. */
export function patternExpression(pattern: string): RegExp {
  const signs: Readonly<Record<string, string>> = { "**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const source = pattern.replace(/\*\*\/|\*\*|[*?]|\[[^\]]+\]|\{[^{}]*\}|[\\^$.|+()[\]{}]/g, (sign) => {
    if (Object.hasOwn(signs, sign)) return signs[sign];
    if (sign.startsWith("[") && sign.length > 2) return sign.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    if (sign.startsWith("{") && sign.length > 1)
      return `(?:${sign
        .slice(1, -1)
        .split(",")
        .map((each) => each.replace(/[^\w]/g, "\\$&"))
        .join("|")})`;
    return `\\${sign}`;
  });
  return new RegExp(`^${source}$`);
}
