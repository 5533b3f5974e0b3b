/**
 * The tags of the first picture of a TIFF file. EXIF data has the same form. Supports classic TIFF and BigTIFF in both
 * byte orders.
 */

/** A source of bytes. A read past the end returns the bytes that exist. */
export interface ByteSource {
  readonly size: number;
  bytes(offset: number, length: number): Uint8Array;
}

/** A longer header is considered broken. */
export const mostHeader = 2 ** 24;

/** Bytes in memory as a source. */
export function bytesInMemory(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, bytes: (offset, length) => bytes.subarray(offset, offset + length) };
}

/** The tags of a picture. */
export interface TiffTags {
  /** The values of a tag, by its number. Text and fractions are omitted. */
  readonly values: ReadonlyMap<number, readonly number[]>;
  /** Whether the values of all tags are present; otherwise the file is truncated. */
  readonly complete: boolean;
}

/** The size of a value in bytes, by TIFF's type number from BYTE (1) to BigTIFF's IFD8 (18); 14 and 15 are not used. */
const widths = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8] as const;
/** The unsigned integer types: BYTE, SHORT, LONG, LONG8. */
const wholeTypes: readonly number[] = [1, 3, 4, 16];

/** The maximum number of values that are read. A tag with more (strips of a huge picture) is cut. */
const mostValues = 65_536;

/** Reads the first directory of tags; undefined if the bytes are not TIFF or are truncated. */
export function readTiffTags(source: ByteSource): TiffTags | undefined {
  const start = source.bytes(0, 16);
  if (start.length < 8) return undefined;
  const little = start[0] === 0x49;
  const view = (offset: number, length: number): DataView | undefined => {
    const bytes = source.bytes(offset, length);
    return bytes.length === length ? new DataView(bytes.buffer, bytes.byteOffset, length) : undefined;
  };
  const number = (from: DataView, offset: number, width: number): number => {
    if (width === 1) return from.getUint8(offset);
    if (width === 2) return from.getUint16(offset, little);
    if (width === 4) return from.getUint32(offset, little);
    return Number(from.getBigUint64(offset, little));
  };
  const header = new DataView(start.buffer, start.byteOffset, start.length);
  const version = number(header, 2, 2);
  if (start[0] !== start[1] || !(little || start[0] === 0x4d) || (version !== 42 && version !== 43)) return undefined;
  const big = version === 43;
  if (big && start.length < 16) return undefined;
  const place = big ? 8 : 4; // width of offsets and counts
  const at = number(header, big ? 8 : 4, place);
  const counter = view(at, big ? 8 : 2);
  if (!counter) return undefined;
  const entries = number(counter, 0, big ? 8 : 2);
  const entryLength = 4 + 2 * place;
  const tags = new Map<number, number[]>();
  let complete = true;
  for (let i = 0; i < Math.min(entries, 4096); i++) {
    const entry = view(at + counter.byteLength + i * entryLength, entryLength);
    if (!entry) return undefined;
    const type = number(entry, 2, 2);
    const width = widths[type] ?? 0;
    const length = number(entry, 4, place) * width;
    const inline = length <= place;
    const from = inline ? 0 : number(entry, 4 + place, place);
    if (from + length > source.size) complete = false;
    if (!wholeTypes.includes(type)) continue;
    const count = Math.min(number(entry, 4, place), mostValues);
    const values = inline ? entry : view(from, count * width);
    if (!values) continue;
    const first = inline ? 4 + place : 0;
    tags.set(
      number(entry, 0, 2),
      Array.from({ length: count }, (_, k) => number(values, first + k * width, width)),
    );
  }
  return { values: tags, complete };
}

/** The orientation in EXIF data, 1 (as stored) to 8; 1 if it is missing or invalid. */
export function exifOrientation(exif: Uint8Array): number {
  const orientation = readTiffTags(bytesInMemory(exif))?.values.get(0x0112)?.[0] ?? 1;
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}
