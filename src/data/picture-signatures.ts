/**
 * The signatures of a dataset's pictures. Each is computed once, and again if the size or the time of its file changes.
 * They are stored in the user's cache. If it cannot be used, they are computed every time.
 */

import { join, resolve } from "node:path";
import { loadIfBuilt } from "../engine/load.js";
import { DataError, StoppedError } from "../errors.js";
import { cacheHome } from "../files/cache-home.js";
import { ContentStore, contentOf, isStored, stampOf } from "../files/content-store.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { fewPictures } from "./cache.js";
import type { PictureDataset } from "./dataset.js";
import { decodeBytes, decodersAtOnce } from "./decode.js";
import { realFolder } from "./picture-blocks.js";
import { CELLS, signatureOf } from "./picture-signature.js";

const BYTES = 2 * CELLS * Uint16Array.BYTES_PER_ELEMENT;
/** The version of the signature: another one is stored apart. */
const VERSION = 1;

export interface SignatureOptions {
  /** Receives the number of signatures that were computed, and how many there are to compute. */
  progress?: (done: number, total: number) => void;
  /** Called once if many remain: receives the seconds that they will take, as measured, and how many there are. */
  announce?: (seconds: number, total: number) => void;
  /** Called after every picture. If it returns true, a `StoppedError` is thrown; computed signatures are kept. */
  shouldStop?: () => boolean;
}

/** The number of pictures after which the remaining time is estimated, and the shortest time in seconds that is announced. */
const MEASURED = 32;
const WORTH_ANNOUNCING = 3;

/** The signature of a picture, and the hash of its file. */
export interface PictureSignature {
  readonly content: string;
  readonly cells: Uint16Array;
}

/** The signatures of pictures by path. Pictures that cannot be decoded have none. */
export async function signaturesOf(
  dataset: PictureDataset,
  files: readonly string[],
  { progress, announce, shouldStop = () => false }: SignatureOptions = {},
): Promise<Map<string, PictureSignature>> {
  const found = new Map<string, PictureSignature>();
  using store = storeOf(dataset);
  const isKnown = (path: string): boolean => {
    const entry = store?.isFresh(path, stampOf(resolve(dataset.root, path))) ? store.entries.get(path) : undefined;
    if (!entry) return false;
    if (!isStored(entry)) return true;
    const bytes = store?.read(entry);
    if (bytes) found.set(path, { content: entry.content, cells: cellsIn(bytes) });
    return bytes !== undefined;
  };
  const isMissing = (path: string): boolean => !isKnown(path);
  let missing = files.filter(isMissing);
  if (missing.length === 0) return found;
  if (missing.length > fewPictures) loadIfBuilt();
  using lock = await store?.take().catch(unlessItIsData);
  let kept = lock && store;
  missing = missing.filter(isMissing); // another process may have computed some meanwhile
  let [next, done] = [0, 0];
  const begun = performance.now();
  const work = async (): Promise<void> => {
    for (let path = missing[next++]; path !== undefined && !shouldStop(); path = missing[next++]) {
      const stamp = stampOf(resolve(dataset.root, path));
      const read = await readSignature(resolve(dataset.root, path), dataset.upright === true);
      if ("bytes" in read) found.set(path, { content: read.content, cells: cellsIn(read.bytes) });
      attempt(() => kept?.add(path, stamp, read));
      done++;
      if (done === MEASURED) {
        const seconds = ((performance.now() - begun) / 1000 / done) * (missing.length - done);
        if (seconds >= WORTH_ANNOUNCING) announce?.(seconds, missing.length);
      }
      if (done % 16 === 0) progress?.(done, missing.length);
    }
  };
  const attempt = (write: () => void): void => {
    try {
      write();
    } catch (error) {
      kept = unlessItIsData(error);
    }
  };
  await Promise.all(Array.from({ length: decodersAtOnce }, work));
  attempt(() => kept?.flush());
  attempt(() => kept?.removeLeftovers());
  lock?.finish();
  if (done < missing.length)
    throw new StoppedError(
      `stopped after comparing ${done} of ${missing.length} pictures; run the same command to resume`,
    );
  return found;
}

const cellsIn = ({ buffer, byteOffset }: Uint8Array): Uint16Array =>
  new Uint16Array(buffer, byteOffset, BYTES / Uint16Array.BYTES_PER_ELEMENT);

async function readSignature(
  path: string,
  upright: boolean,
): Promise<{ content: string; bytes: Uint8Array; facts: object } | { problem: string }> {
  try {
    const file = await readBytesLater(path, { most: MOST_PICTURE_BYTES });
    const { buffer } = signatureOf(await decodeBytes(file, path, { upright }));
    return { content: contentOf(file), bytes: new Uint8Array(buffer), facts: {} };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** The store of signatures; undefined if the cache cannot be read. */
function storeOf({ root, upright }: PictureDataset): ContentStore | undefined {
  try {
    return new ContentStore(join(cacheHome(), "nudge", "signatures"), {
      what: "cache of picture signatures",
      kind: { of: "picture signatures", version: VERSION, upright: upright === true },
      root: realFolder(root),
      isWhole: ({ length }) => length === BYTES,
      advice: "Remove the folder, or make it writable",
    });
  } catch (error) {
    return unlessItIsData(error);
  }
}

/** A cache that cannot be used is not an error: signatures are computed without it. */
function unlessItIsData(error: unknown): undefined {
  if (!(error instanceof DataError)) throw error;
}
