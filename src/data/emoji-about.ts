/** The file beside the pictures of emoji that says what they are, who drew them, and under which licences. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { nameSchema, parseStored, type Schema, wholeSchema } from "../files/stored-json.js";

export const EMOJI_FILE = "emoji.json";

/** The width and height of pictures by default. */
export const EMOJI_SIZE = 224;

/** A style: the drawings of one set. */
export interface EmojiStyle {
  /** The name of its folder. */
  readonly style: string;
  readonly title: string;
  readonly author: string;
  readonly page: string;
  readonly licence: string;
  readonly licencePage: string;
  /** The npm package of the drawings, with its version. */
  readonly package: string;
  /** The SHA-256 of its decoded pictures, in the order of their names (pixels-hash.ts). */
  readonly pixels: string;
}

export interface EmojiAbout {
  readonly format: 1;
  /** The width and height of every picture. */
  readonly size: number;
  /** What was done with the drawings. */
  readonly changes: string;
  /** The program that rendered them. */
  readonly renderer: string;
  readonly styles: readonly EmojiStyle[];
}

const schema: Schema<EmojiAbout> = v.looseObject({
  format: v.literal(1, "1"),
  size: wholeSchema,
  changes: nameSchema,
  renderer: nameSchema,
  styles: v.pipe(
    v.array(
      v.looseObject({
        // A folder of its own, and no way out of the dataset.
        style: v.pipe(nameSchema, v.regex(/^[a-z0-9-]+$/, "a name of lower-case letters, digits and hyphens")),
        title: nameSchema,
        author: nameSchema,
        page: nameSchema,
        licence: nameSchema,
        licencePage: nameSchema,
        package: nameSchema,
        pixels: nameSchema,
      }),
      "a list of styles",
    ),
    v.minLength(1, "at least one style"),
  ),
});

/** Reads the file in a folder of emoji. */
export function readEmojiAbout(folder: string): EmojiAbout {
  const path = join(folder, EMOJI_FILE);
  let text: string;
  try {
    text = readText(path);
  } catch (cause) {
    throw new DataError(`${path}: could not be read (${(cause as Error).message})`, { cause });
  }
  return parseStored(schema, text, {
    path,
    what: "the description of a folder of emoji",
    remedy: "Make the folder again: nudge data get emoji",
  });
}

/** Who drew a style, and under which licence, in one line. */
export const creditOf = ({ style, title, author, page, licence, licencePage }: EmojiStyle, changes: string): string =>
  `${style}: ${title} by ${author} (${page}), ${licence} (${licencePage}); ${changes}`;

/** The hash of the pictures of each default style, as published numbers have used them. */
const publishedPixels = (): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(new URL("../../data/emoji-pixels.json", import.meta.url), "utf8")) as Readonly<
    Record<string, string>
  >;

/** The styles with other pixels than those of published numbers, which have the default styles and size. */
export function otherPixels({ styles, size }: Pick<EmojiAbout, "styles" | "size">): string[] {
  const published = publishedPixels();
  const isDefault = size === EMOJI_SIZE && Object.keys(published).length === styles.length;
  if (!isDefault || !styles.every(({ style }) => Object.hasOwn(published, style))) return [];
  return styles.filter(({ style, pixels }) => published[style] !== pixels).map(({ style }) => style);
}

/** What to say if a renderer made other pixels. */
export const otherPixelsText = (styles: readonly string[], { renderer }: Pick<EmojiAbout, "renderer">): string =>
  `the decoded pixels of ${styles.join(", ")} are not those of published numbers. They were rendered with ${renderer}. The pictures can be used, but accuracies may differ slightly from published ones. To get the same pixels, install the pinned packages of NUDGE (npm ci) and make the folder again`;
