/** Records finished steps: hashes of the inputs of a step, stored next to its outputs, so that it is not repeated. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The SHA-256 of some values, in order. @param {...unknown} parts */
export function hashOf(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(Buffer.isBuffer(part) ? part : JSON.stringify(part ?? null)).update("\0");
  return hash.digest("hex");
}

/** The SHA-256 of files' names and contents. @param {string} folder @param {readonly string[]} names within the folder */
export function hashOfFiles(folder, names) {
  return hashOf(...[...names].sort().flatMap((name) => [name, readFileSync(join(folder, name))]));
}

/** The files in a folder that a rule accepts, as sorted relative paths; empty if the folder does not exist.
 * @param {string} folder @param {(name: string) => boolean} take @returns {string[]} */
export function filesUnder(folder, take) {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return paths
      .map((path) => path.slice(folder.length + 1))
      .filter(take)
      .sort();
  } catch {
    return [];
  }
}

/** The hash of setup itself, because a newer version may work differently. */
export function setupHash() {
  return hashOfFiles(
    import.meta.dirname,
    filesUnder(import.meta.dirname, () => true),
  );
}

/** Identifies a file without reading it, for libraries of hundreds of megabytes; undefined if it does not exist.
 * @param {string} path */
export function fileIdentity(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.size}@${found.mtimeMs}`;
}

/** The value of a JSON file; undefined if it cannot be read. @param {string} path */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/** Writes a JSON file under a temporary name and renames it, so that an incomplete file is never read.
 * @param {string} path @param {unknown} value */
export function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(beside, path);
}
