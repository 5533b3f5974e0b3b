/** The blocks in the store of decoded pictures: 8-bit RGB, three bytes per pixel, row by row. */

import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheHome } from "../files/cache-home.js";
import { ContentStore, type Stored, type StoreOptions } from "../files/content-store.js";
import type { PictureDataset } from "./dataset.js";
import type { Interpolation } from "./framing.js";

/** The facts of a block of pixels. */
export interface PictureFacts {
  readonly width: number;
  readonly height: number;
  /** Whether the file is truncated and was decoded as far as possible. */
  readonly truncated?: true;
}

export type StoredPicture = Stored<PictureFacts>;

/** The number of bytes of a picture's pixels. */
export const pixelBytes = ({ width, height }: { width: number; height: number }): number => width * height * 3;

/** The real path of a folder, so that one folder has one name; unchanged if it does not exist. */
export function realFolder(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch {
    return resolve(path); // reading from it will report the problem
  }
}

/** Opens the store of a dataset's pictures, scaled down to `shortSide`; by default in the user's cache. */
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
