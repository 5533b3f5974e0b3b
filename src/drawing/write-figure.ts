/** Writes a figure to disk in two formats: SVG for documents, PNG for everything else. */
import { dirname } from "node:path";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { textToStrokes } from "./stroke-font.js";

/** The number of pixels of the PNG per unit of the SVG. */
const pixelRatio = 2;

/**
 * Writes `path.svg` and `path.png` and returns both names. Each file is written under a temporary name and then renamed.
 *
 * The PNG's text is drawn as strokes: without installed fonts the renderer would draw an empty box for every letter.
 */
export async function writeFigure(svg: string, pathWithoutExtension: string): Promise<string[]> {
  const { default: sharp } = await import("sharp"); // imported here, because it is native and slow to load
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
