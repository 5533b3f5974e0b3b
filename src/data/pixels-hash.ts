/**
 * The hash of decoded pictures. Two versions of a library write other bytes of PNG for the same pixels, so pictures that
 * were rendered on another machine are compared by their pixels.
 */
import { createHash } from "node:crypto";
import { DataError } from "../errors.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { showName } from "./show-name.js";

/** The hash of some pictures: of their names and the hashes of their pixels, in the order of the names. */
export class PixelsHash {
  private readonly pictures = new Map<string, string>();

  /** `pixels` are rows from the top, then pixels, then red, green, blue. */
  add(name: string, pixels: Uint8Array): void {
    this.pictures.set(name, createHash("sha256").update(pixels).digest("hex"));
  }

  get value(): string {
    const lines = [...this.pictures].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, hash]) => `${name} ${hash}\n`);
    return createHash("sha256").update(lines.join("")).digest("hex");
  }
}

/** How many pictures are decoded at once. */
const AT_ONCE = 8;

/** The hash of picture files, each with its name. */
export async function pixelsHash(files: readonly { readonly name: string; readonly path: string }[]): Promise<string> {
  const { default: sharp } = await import("sharp"); // most commands decode nothing
  const hash = new PixelsHash();
  for (let start = 0; start < files.length; start += AT_ONCE)
    await Promise.all(
      files.slice(start, start + AT_ONCE).map(async ({ name, path }) => {
        try {
          hash.add(
            name,
            await sharp(await readBytesLater(path, { most: MOST_PICTURE_BYTES }))
              .removeAlpha()
              .toColourspace("srgb")
              .raw()
              .toBuffer(),
          );
        } catch (cause) {
          throw new DataError(`${showName(path)}: could not be decoded (${(cause as Error).message})`, { cause });
        }
      }),
    );
  return hash.value;
}
