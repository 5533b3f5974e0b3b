/** A figure on disk, twice: SVG for documents, PNG for everything else. */
import { dirname } from "node:path";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { textToStrokes } from "./stroke-font.js";

/** Pixels of the PNG for one unit of the SVG. */
const pixelRatio = 2;

/**
 * Writes `path.svg` and `path.png` and returns both names; each is written beside its place and renamed.
 *
 * The PNG's text is drawn as strokes: without installed fonts the renderer would draw an empty box for every letter.
 */
export async function writeFigure(svg: string, pathWithoutExtension: string): Promise<string[]> {
  const { default: sharp } = await import("sharp"); // native and slow to load: only when there is something to draw
  const png = await sharp(Buffer.from(textToStrokes(svg)), { density: 72 * pixelRatio })
    .png()
    .toBuffer();
  try {
    makeFolder(dirname(pathWithoutExtension));
  } catch (cause) {
    throw new DataError(`${pathWithoutExtension}: its folder could not be made: ${(cause as Error).message}`, {
      cause,
    });
  }
  const files: [string, Uint8Array][] = [
    [`${pathWithoutExtension}.svg`, Buffer.from(`${svg}\n`)],
    [`${pathWithoutExtension}.png`, png],
  ];
  for (const [path, bytes] of files) replaceFile(path, (write) => write(bytes));
  return files.map(([path]) => path);
}
