/** What the store of decoded pictures holds: blocks of 8-bit RGB, three bytes a pixel, row by row. */

import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { ContentStore, type Stored, type StoreOptions } from "../files/content-store.js";
import type { PictureDataset } from "./dataset.js";
import type { Interpolation } from "./framing.js";

/** What a block's pixels are. */
export interface PictureFacts {
  readonly width: number;
  readonly height: number;
  /** Whether the file ends early, and was read as far as it goes. */
  readonly truncated?: true;
}

export type StoredPicture = Stored<PictureFacts>;

/** How many bytes a picture's pixels take. */
export const pixelBytes = ({ width, height }: { width: number; height: number }): number => width * height * 3;

/** A folder without links, so that one folder has one name; as it is where it is not there. */
export function realFolder(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch {
    return resolve(path); // whoever reads from it will say so
  }
}

/** Opens the store of a dataset's pictures, with those over `shortSide` scaled down to it; in the user's cache by default. */
export function openPictureBlocks(
  { root, upright }: Pick<PictureDataset, "root" | "upright">,
  {
    folder,
    shortSide,
    filter,
    write,
  }: { folder?: string; shortSide: number | null; filter?: Interpolation } & Pick<StoreOptions<PictureFacts>, "write">,
): ContentStore<PictureFacts> {
  const isSide = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
  return new ContentStore(resolve(folder ?? join(cacheHome(), "nudge", "pictures")), {
    what: "picture cache",
    kind: { of: "decoded pictures", shortSide, upright: upright === true, ...(filter && { filter }) },
    root: realFolder(root),
    isWhole: ({ width, height, length }) => isSide(width) && isSide(height) && pixelBytes({ width, height }) === length,
    advice:
      "Its present content is kept and used. Free some space, or choose another folder (cache=DIR in training, --out of nudge data cache), or train without one with cache=false",
    write,
  });
}
