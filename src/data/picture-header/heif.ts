/**
 * The header of an AVIF or HEIC file: nested boxes (ISO/IEC 14496-12), in which `ispe` has the size of a picture
 * (ISO/IEC 23008-12). A file may contain several pictures, including grid tiles and a thumbnail; the largest is used.
 */
import type { HeaderReading } from "../picture-header.js";
import { type ByteSource, mostHeader } from "./tiff-tags.js";

interface Box {
  readonly type: string;
  /** The start and end of its content. */
  readonly from: number;
  readonly to: number;
}

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** The boxes between two positions. A box that extends past the end is returned as it is declared. */
function* boxesIn(source: ByteSource, from: number, to: number): Generator<Box> {
  for (let at = from; at + 8 <= to; ) {
    const head = source.bytes(at, 16);
    if (head.length < 8) return;
    const view = new DataView(head.buffer, head.byteOffset, head.length);
    const short = view.getUint32(0);
    const isLong = short === 1 && head.length === 16;
    const size = isLong ? Number(view.getBigUint64(8)) : short === 0 ? to - at : short; // 0: to the end of the file
    if (size < (isLong ? 16 : 8)) return;
    yield { type: latin1(head.subarray(4, 8)), from: at + (isLong ? 16 : 8), to: at + size };
    at += size;
  }
}

function find(source: ByteSource, from: number, to: number, type: string): Box | undefined {
  for (const box of boxesIn(source, from, to)) if (box.type === type) return box;
  return undefined;
}

export function readHeif(format: "AVIF" | "HEIC"): (source: ByteSource) => HeaderReading {
  return (source) => {
    let [end, hasData] = [0, false];
    for (const { type, to } of boxesIn(source, 0, source.size)) {
      end = Math.max(end, to);
      hasData ||= type === "mdat";
    }
    const meta = find(source, 0, source.size, "meta");
    if (!meta || meta.to > source.size) return { problem: `an ${format} cut off before its size` };
    if (meta.to - meta.from > mostHeader) return { problem: `an ${format} with a broken header` };
    const properties = find(source, meta.from + 4, meta.to, "iprp"); // after 4 bytes of version and flags
    const list = properties && find(source, properties.from, properties.to, "ipco");
    let [width, height] = [0, 0];
    for (const box of list ? boxesIn(source, list.from, list.to) : []) {
      const sizes = box.type === "ispe" ? source.bytes(box.from + 4, 8) : new Uint8Array();
      if (sizes.length < 8) continue;
      const view = new DataView(sizes.buffer, sizes.byteOffset, 8);
      const [w, h] = [view.getUint32(0), view.getUint32(4)];
      if (w * h > width * height) [width, height] = [w, h];
    }
    if (width === 0) return { problem: `an ${format} with a broken header` };
    const alpha = latin1(source.bytes(meta.from, meta.to - meta.from)).includes("auxiliary:alpha");
    // Rotations in the file are applied by the decoder.
    const header = { format, width, height, colours: "colour", alpha, bits: 8, orientation: 1 } as const;
    hasData ||= find(source, meta.from + 4, meta.to, "idat") !== undefined; // small pictures may be inside the header
    return { header: { ...header, truncated: end > source.size || !hasData } };
  };
}
