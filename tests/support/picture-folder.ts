/** Folders of small pictures, made for a test and removed after it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import sharp from "sharp";
import { onTestFinished } from "vitest";

/** A new empty folder that goes when the test ends. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "nudge-pictures-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes a file and the folders it needs. */
export function writeFile(root: string, file: string, content: string | Uint8Array = ""): string {
  const path = join(root, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

/** The bytes of a picture in one colour, which a number chooses: another number, other bytes. */
export async function pictureBytes(
  name: string,
  number = 0,
  { width = 8, height = 6, orientation = 1 }: { width?: number; height?: number; orientation?: number } = {},
): Promise<Buffer> {
  const background = { r: (number * 47) % 256, g: (number * 91 + 40) % 256, b: Math.floor(number / 256) % 256 };
  const picture = sharp({ create: { width, height, channels: 3, background } });
  const format = /\.(\w+)$/.exec(name)?.[1].toLowerCase().replace("tif", "tiff").replace("tifff", "tiff");
  const oriented = orientation === 1 ? picture : picture.withMetadata({ orientation });
  return oriented.toFormat(format as "png").toBuffer();
}

let made = 0;

/** Writes pictures: each path, or a folder with a number of pictures in it; no two are alike. */
export async function writePictures(
  root: string,
  content: Readonly<Record<string, number>> | readonly string[],
): Promise<void> {
  const files = Array.isArray(content)
    ? content
    : Object.entries(content as Record<string, number>).flatMap(([folder, count]) =>
        Array.from({ length: count }, (_, i) => `${folder}/${i}.png`),
      );
  for (const file of files) writeFile(root, file, await pictureBytes(file, made++));
}
