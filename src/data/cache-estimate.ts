/** Estimates the size of the decoded pixels of pictures from their headers, before any picture is decoded. */

import { scaledSize } from "./decode.js";
import { lookAt } from "./inspect-files.js";
import { pixelBytes } from "./picture-blocks.js";

/** With more files than this, only every n-th header is read. A header takes about a tenth of a millisecond. */
const mostLooks = 20_000;

/** The number of bytes of the pixels of these files. Unreadable files count as 0. */
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
