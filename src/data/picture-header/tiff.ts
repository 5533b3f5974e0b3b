/** The header of a TIFF file: the tags of its first picture (TIFF 6.0). */
import type { HeaderReading } from "../picture-header.js";
import { type ByteSource, readTiffTags } from "./tiff-tags.js";

export function readTiff(source: ByteSource): HeaderReading {
  const read = readTiffTags(source);
  const tags = read?.values;
  const [width, height] = [tags?.get(256)?.[0], tags?.get(257)?.[0]];
  if (!read || !tags || width === undefined || height === undefined)
    return { problem: "a TIFF cut off before its size, or with a broken header" };
  const photometric = tags.get(262)?.[0] ?? 2;
  // The pixels are in strips or tiles, each with an offset and a length.
  const offsets = tags.get(273) ?? tags.get(324) ?? [];
  const lengths = tags.get(279) ?? tags.get(325) ?? [];
  const truncated = !read.complete || offsets.some((offset, i) => offset + (lengths[i] ?? 0) > source.size);
  const orientation = tags.get(274)?.[0] ?? 1;
  return {
    header: {
      format: "TIFF",
      width,
      height,
      colours: photometric <= 1 ? "grey" : photometric === 3 ? "palette" : photometric === 5 ? "CMYK" : "colour",
      alpha: tags.has(338),
      bits: tags.get(258)?.[0] ?? 1,
      orientation: orientation >= 1 && orientation <= 8 ? orientation : 1,
      truncated,
    },
  };
}
