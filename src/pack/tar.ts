/**
 * Headers of a tar archive (POSIX ustar) for regular files. A name that does not fit into a header gets an extended
 * header (pax) before it, which every current tar program reads. The package `tar`, which unpacks datasets, is not used
 * here, because loading it takes longer than most reports.
 */

/** The block size of tar: headers and contents are padded to a multiple of it. */
export const TAR_UNIT = 512;

/** The content of an entry's header. */
export interface TarEntry {
  readonly name: string;
  readonly size: number;
  /** Seconds since 1970. */
  readonly time: number;
  /** `0` for a regular file. */
  readonly type: string;
}

/** The end of an archive. */
export const TAR_END = Buffer.alloc(2 * TAR_UNIT);

/** A length, rounded up to full blocks. */
export const padded = (size: number): number => Math.ceil(size / TAR_UNIT) * TAR_UNIT;

/** The header of a file. Its padded content follows. */
export function tarHeader({ name, size, time }: Omit<TarEntry, "type">): Buffer {
  const [prefix, base] = splitName(name);
  if (base !== undefined) return header(base, { prefix, size, time, type: "0" });
  const record = Buffer.alloc(padded(paxRecord(name).length));
  record.set(paxRecord(name));
  return Buffer.concat([
    header("pax-header", { size: paxRecord(name).length, time, type: "x" }),
    record,
    header("long-name", { size, time, type: "0" }),
  ]);
}

function header(
  name: string,
  { prefix = "", size, time, type }: { prefix?: string; size: number; time: number; type: string },
): Buffer {
  const bytes = Buffer.alloc(TAR_UNIT);
  bytes.write(name, 0, 100, "utf8");
  bytes.write("0000644\0", 100);
  bytes.write("0000000\0", 108);
  bytes.write("0000000\0", 116);
  bytes.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  bytes.write(`${time.toString(8).padStart(11, "0")}\0`, 136);
  bytes.write(type, 156);
  bytes.write("ustar\0" + "00", 257);
  bytes.write(prefix, 345, 155, "utf8");
  bytes.write(`${checksum(bytes).toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

/** The sum of the bytes of a header, with spaces in the field of the checksum. */
function checksum(bytes: Buffer): number {
  let sum = 8 * 32;
  for (let i = 0; i < TAR_UNIT; i++) if (i < 148 || i >= 156) sum += bytes[i];
  return sum;
}

/** A name in the two fields of a header; undefined if it does not fit. */
function splitName(name: string): [prefix: string, base: string | undefined] {
  if (Buffer.byteLength(name) <= 100) return ["", name];
  for (let cut = name.indexOf("/"); cut > 0; cut = name.indexOf("/", cut + 1)) {
    const [prefix, base] = [name.slice(0, cut), name.slice(cut + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(base) <= 100) return [prefix, base];
  }
  return ["", undefined];
}

/**
 * `LENGTH path=NAME
 * `. The length includes its own digits.
 */
function paxRecord(name: string): Buffer {
  const rest = Buffer.byteLength(` path=${name}\n`);
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return Buffer.from(`${length} path=${name}\n`);
}

/** The name in an extended header; undefined if there is none. */
export const paxName = (record: Buffer): string | undefined => /^\d+ path=(.+)\n/m.exec(record.toString("utf8"))?.[1];

/**
 * Parses the header at an offset; `end` for the zeros at the end of an archive, undefined if it is invalid. Its checksum is not
 * checked, because the checksum of the block covers all bytes.
 */
export function parseTarHeader(bytes: Buffer, at: number): TarEntry | "end" | undefined {
  if (bytes.length < at + TAR_UNIT) return undefined;
  if (bytes[at] === 0) return "end";
  const [size, time] = [octalAt(bytes, at + 124, 12), octalAt(bytes, at + 136, 12)];
  if (!hasMagic(bytes, at + 257) || size === undefined || time === undefined) return undefined;
  const [prefix, base] = [textAt(bytes, at + 345, 155), textAt(bytes, at, 100)];
  return { name: prefix === "" ? base : `${prefix}/${base}`, size, time, type: textAt(bytes, at + 156, 1) };
}

const MAGIC = Buffer.from("ustar");

/** Compared byte by byte, like the next two, because a pack of many runs has hundreds of thousands of headers. */
const hasMagic = (bytes: Buffer, from: number): boolean => MAGIC.every((byte, i) => bytes[from + i] === byte);

/** The text of a field, which ends at its first zero. */
function textAt(bytes: Buffer, from: number, length: number): string {
  let to = from;
  while (to < from + length && bytes[to] !== 0) to++;
  return to === from ? "" : bytes.toString("utf8", from, to);
}

/** The number in a field of octal digits, which a zero or a space ends; undefined if there is none. */
function octalAt(bytes: Buffer, from: number, length: number): number | undefined {
  let number = 0;
  let at = from;
  while (at < from + length && bytes[at] === SPACE) at++;
  const start = at;
  for (; at < from + length && bytes[at] >= ZERO && bytes[at] < ZERO + 8; at++) number = 8 * number + bytes[at] - ZERO;
  return at > start ? number : undefined;
}

const [ZERO, SPACE] = Buffer.from("0 ");
