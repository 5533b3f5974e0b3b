/** The headers of three simple formats: GIF, BMP and Netpbm (gray and color). */
import type { HeaderReading } from "../picture-header.js";
import type { ByteSource } from "./tiff-tags.js";

/** GIF: the size of the screen. The last byte is a semicolon, possibly followed by padding. */
export function readGif(source: ByteSource): HeaderReading {
  const start = source.bytes(0, 13);
  if (start.length < 13) return { problem: "a GIF cut off before its size" };
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const tail = source.bytes(Math.max(13, source.size - 256), 256);
  return {
    header: {
      format: "GIF",
      width: view.getUint16(6, true),
      height: view.getUint16(8, true),
      colours: "palette",
      alpha: false,
      bits: 8,
      orientation: 1,
      truncated: tail.findLast((byte) => byte !== 0) !== 0x3b,
    },
  };
}

/** BMP: the old 12-byte header or a newer one. All uncompressed pixels must be present. */
export function readBmp(source: ByteSource): HeaderReading {
  const start = source.bytes(0, 34);
  if (start.length < 26) return { problem: "a BMP cut off before its size" };
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const old = view.getUint32(14, true) === 12;
  if (!old && start.length < 34) return { problem: "a BMP cut off before its size" };
  const width = old ? view.getUint16(18, true) : view.getInt32(18, true);
  const height = Math.abs(old ? view.getUint16(20, true) : view.getInt32(22, true)); // negative: from the top
  const bits = view.getUint16(old ? 24 : 28, true);
  const compression = old ? 0 : view.getUint32(30, true);
  const pixels = Math.ceil((width * bits) / 32) * 4 * height;
  const plain = compression === 0 || compression === 3;
  return {
    header: {
      format: "BMP",
      width,
      height,
      colours: bits <= 8 ? "palette" : "colour",
      alpha: bits === 32 && compression === 3,
      bits: 8,
      orientation: 1,
      truncated: plain && view.getUint32(10, true) + pixels > source.size,
    },
  };
}

/** Netpbm: `P5` or `P6` (`P2` or `P3` as text), width, height and the maximum value, with comments in between. */
export function readNetpbm(source: ByteSource): HeaderReading {
  const start = Buffer.from(source.bytes(0, 4096)).toString("latin1");
  const fields = /^P([2356])(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)(?:\s|#[^\n]*\n)+(\d+)\s/.exec(start);
  if (!fields) return { problem: "a PPM or PGM with a broken header" };
  const [kind, width, height, most] = fields.slice(1).map(Number);
  const channels = kind === 3 || kind === 6 ? 3 : 1;
  const bytes = width * height * channels * (most > 255 ? 2 : 1);
  return {
    header: {
      format: channels === 3 ? "PPM" : "PGM",
      width,
      height,
      colours: channels === 3 ? "colour" : "grey",
      alpha: false,
      bits: most > 255 ? 16 : 8,
      orientation: 1,
      truncated: kind >= 5 && fields[0].length + bytes > source.size,
    },
  };
}
