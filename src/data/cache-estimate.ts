/** How much room the pixels of some pictures will take, from their headers, before any is decoded. */

import { scaledSize } from "./decode.js";
import { lookAt } from "./inspect-files.js";
import { pixelBytes } from "./picture-blocks.js";

/** Above this many files, only every n-th is looked at: reading a header takes about a tenth of a millisecond. */
const mostLooks = 20_000;

/** Bytes of the pixels of these files; those that cannot be read take none. */
export function estimatePixels(paths: readonly string[], shortSide: number | null): number {
  const step = Math.ceil(paths.length / mostLooks);
  let [looked, bytes] = [0, 0];
  for (let i = 0; i < paths.length; i += step) {
    looked++;
    const { header } = lookAt(paths[i], { domain: 0, label: 0, file: paths[i] });
    if (header) bytes += pixelBytes(scaledSize(header, shortSide) ?? header);
  }
  return looked === 0 ? 0 : Math.round((bytes / looked) * paths.length);
}
