/** Decodes portable graymaps and pixmaps (.pgm, .ppm; P2, P3, P5, P6), which the prebuilt libvips cannot read. */
import { type DecodedPicture, mostPixels } from "./decoded-picture.js";

const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);

/** Decodes the picture, or throws an error that describes the problem. */
export function readPnm(bytes: Uint8Array): DecodedPicture {
  const kind = bytes[1] - 48;
  const [coloured, binary] = [kind === 3 || kind === 6, kind >= 5];
  const text = new Words(bytes, 2);
  const width = text.number("a width");
  const height = text.number("a height");
  const most = text.number("the largest value");
  if (width < 1 || height < 1 || width * height > mostPixels)
    throw new Error(`it says it has ${width}×${height} pixels`);
  if (most < 1 || most > 65535) throw new Error(`it says its largest value is ${most}`);
  const next = binary ? binaryValues(bytes, text.at + 1, most > 255) : () => text.next();
  const read = coloured ? 3 : 1;
  if (bytes.length - text.at < width * read) throw new Error("it ends before its first row"); // and the size may be anything
  const pixels = new Uint8Array(width * height * 3);
  for (let i = 0; i < pixels.length; i += 3) {
    for (let c = 0; c < read; c++) {
      const value = next();
      if (value === undefined) return { width, height, pixels, truncated: true };
      pixels[i + c] = Math.round((Math.min(value, most) * 255) / most);
    }
    if (!coloured) pixels.fill(pixels[i], i + 1, i + 3);
  }
  return { width, height, pixels, truncated: false };
}

/** Numbers as text, with comments from # to the end of the line. */
class Words {
  constructor(
    readonly bytes: Uint8Array,
    public at: number,
  ) {}

  next(): number | undefined {
    this.skipSpace();
    let value: number | undefined;
    for (let digit = this.digit(); digit !== undefined; digit = this.digit()) {
      value = Math.min((value ?? 0) * 10 + digit, 1e9);
      this.at++;
    }
    return value;
  }

  number(what: string): number {
    const value = this.next();
    if (value === undefined) throw new Error(`expected ${what} in its header`);
    return value;
  }

  private skipSpace(): void {
    const { bytes } = this;
    while (this.at < bytes.length) {
      if (bytes[this.at] === 35) while (this.at < bytes.length && bytes[this.at] !== 10) this.at++;
      else if (!isSpace(bytes[this.at])) return;
      this.at++;
    }
  }

  private digit(): number | undefined {
    const digit = this.bytes[this.at] - 48;
    return digit >= 0 && digit <= 9 ? digit : undefined;
  }
}

/** Values of one byte, or of two in big-endian order. */
function binaryValues(bytes: Uint8Array, start: number, wide: boolean): () => number | undefined {
  let at = start;
  if (!wide) return () => bytes[at++];
  return () => {
    at += 2;
    return at > bytes.length ? undefined : bytes[at - 2] * 256 + bytes[at - 1];
  };
}
