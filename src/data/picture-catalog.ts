/** A dataset's pictures in a cache on disk: of each, where its pixels are, in arrays that hold a million of them easily. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { DataError } from "../errors.js";
import { type CacheIndex, isCached, pixelBytes, readIndex } from "./cache-index.js";
import type { PictureDataset } from "./dataset.js";

/** The pictures of one domain, in its order. */
export interface CatalogDomain {
  /** Descriptors of the files with the pixels. */
  readonly files: Int32Array;
  readonly offsets: Float64Array;
  /** Width and height; 0 where the picture cannot be had. */
  readonly sizes: Int32Array;
  /** Why some cannot be had. */
  readonly problems: ReadonlyMap<number, string>;
}

export interface Catalog extends Disposable {
  readonly folder: string;
  readonly domains: readonly CatalogDomain[];
  /** Bytes of all pixels. */
  readonly bytes: number;
}

/** Opens a cache for a dataset; the cache must be up to date. */
export function openCatalog(dataset: PictureDataset, folder: string): Catalog {
  const index = readIndex(folder);
  if (!index) throw new DataError(`picture cache ${folder}: there is none; make it with nudge data cache`);
  const open = new Map<string, { fd: number; size: number }>();
  const close = () => {
    for (const { fd } of open.values()) closeSync(fd);
    open.clear();
  };
  try {
    const domains = dataset.domains.map(({ files }) =>
      catalogDomain(files, index, (name) => fileOf(folder, name, open)),
    );
    const bytes = domains.reduce((sum, { sizes }) => sum + totalBytes(sizes), 0);
    return { folder, domains, bytes, [Symbol.dispose]: close };
  } catch (error) {
    close();
    throw error;
  }
}

function fileOf(folder: string, name: string, open: Map<string, { fd: number; size: number }>) {
  const known = open.get(name);
  if (known) return known;
  try {
    const fd = openSync(join(folder, name), "r");
    const opened = { fd, size: fstatSync(fd).size };
    open.set(name, opened);
    return opened;
  } catch (cause) {
    throw new DataError(
      `picture cache ${folder}: ${name}, which its index names, cannot be opened (${(cause as Error).message}); make it anew with nudge data cache --fresh`,
      { cause },
    );
  }
}

function catalogDomain(
  paths: readonly string[],
  index: CacheIndex,
  fileNamed: (name: string) => { fd: number; size: number },
): CatalogDomain {
  const files = new Int32Array(paths.length).fill(-1);
  const offsets = new Float64Array(paths.length);
  const sizes = new Int32Array(paths.length * 2);
  const problems = new Map<number, string>();
  for (const [i, path] of paths.entries()) {
    const entry = index.entries.get(path);
    if (!isCached(entry)) {
      problems.set(i, entry?.problem ?? `picture ${path}: is not in the cache`);
      continue;
    }
    const { fd, size } = fileNamed(entry.pixels);
    if (entry.offset + pixelBytes(entry) > size)
      throw new DataError(
        `picture cache: ${entry.pixels} ends before the pixels of ${path}; make the cache anew with nudge data cache --fresh`,
      );
    files[i] = fd;
    offsets[i] = entry.offset;
    sizes.set([entry.width, entry.height], 2 * i);
  }
  return { files, offsets, sizes, problems };
}

function totalBytes(sizes: Int32Array): number {
  let total = 0;
  for (let i = 0; i < sizes.length; i += 2) total += sizes[i] * sizes[i + 1] * 3;
  return total;
}
