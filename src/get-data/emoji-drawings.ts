/**
 * The drawings of a set of emoji, from the files of its npm package: `icons.json` has bodies of SVG by name, and aliases
 * that may mirror or turn another drawing; `chars.json` has the names of code points, or nothing.
 */
import { basename, join } from "node:path";
import { showName } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";
import type { EmojiClasses, EmojiSet } from "./emoji-sets.js";

/** The files of a package that drawings are made of. */
export const DRAWING_FILES = ["icons.json", "chars.json"] as const;

/** A drawing as SVG, without a size. */
export interface Drawing {
  /** The code of the emoji, such as `1f435`. */
  readonly code: string;
  readonly class: string;
  /** The name in the set. */
  readonly name: string;
  readonly body: string;
  readonly width: number;
  readonly height: number;
}

interface Icon {
  readonly body?: string;
  readonly parent?: string;
  readonly width?: number;
  readonly height?: number;
  readonly hFlip?: boolean;
  readonly vFlip?: boolean;
  readonly rotate?: number;
  readonly left?: number;
  readonly top?: number;
}

interface Icons {
  readonly icons: Readonly<Record<string, Icon>>;
  readonly aliases?: Readonly<Record<string, Icon>>;
  readonly width?: number;
  readonly height?: number;
}

/** The drawings of a set that are in one of the classes, in the order of their classes and codes. */
export function drawingsOf(
  { package: { name }, wrong = {} }: EmojiSet,
  folder: string,
  classes: EmojiClasses,
): Drawing[] {
  const icons = readJson<Icons>(join(folder, "icons.json"), name);
  if (typeof icons.icons !== "object") throw new DataError(`${name}: icons.json has no list "icons"`);
  const chars = readJson<Readonly<Record<string, string>>>(join(folder, "chars.json"), name);
  return Object.entries(classes).flatMap(([label, emoji]) =>
    Object.entries(emoji).flatMap(([code, usual]): Drawing[] => {
      if (Object.hasOwn(wrong, code)) return [];
      const found = [chars[code], usual].find((each) => each !== undefined && iconNamed(icons, each) !== undefined);
      if (found === undefined) return [];
      return [{ code, class: label, name: found, ...resolve(icons, found, name) }];
    }),
  );
}

function readJson<T>(path: string, name: string): T {
  try {
    const value = JSON.parse(readText(path)) as T;
    if (typeof value === "object" && value !== null) return value;
    throw new Error("it is not an object");
  } catch (cause) {
    throw new DataError(`${name}: ${basename(path)} could not be read (${(cause as Error).message})`, { cause });
  }
}

const own = (icons: Readonly<Record<string, Icon>> | undefined, name: string): Icon | undefined =>
  icons && Object.hasOwn(icons, name) ? icons[name] : undefined;

const iconNamed = ({ icons, aliases }: Icons, name: string): Icon | undefined => own(icons, name) ?? own(aliases, name);

/** An alias of an alias of … of a drawing is not more than this. */
const MOST_PARENTS = 5;

/** A drawing or what an alias makes of it. */
function resolve(icons: Icons, name: string, set: string): Pick<Drawing, "body" | "width" | "height"> {
  const refuse = (why: string): never => {
    throw new DataError(`${set}: drawing ${showName(name)} ${why}, which this version of NUDGE does not know`);
  };
  let icon = iconNamed(icons, name)!;
  let isFlipped = icon.hFlip === true;
  for (let depth = 0; icon.parent !== undefined; depth++) {
    if (icon.vFlip || icon.rotate) refuse("is turned or flipped upside down");
    const parent = iconNamed(icons, icon.parent);
    if (parent === undefined || depth === MOST_PARENTS) return refuse(`refers to ${showName(icon.parent)}`);
    icon = parent;
    if (icon.hFlip) isFlipped = !isFlipped;
  }
  if (icon.vFlip || icon.rotate || icon.left || icon.top) refuse("is turned or moved");
  const { body, width = icons.width ?? 16, height = icons.height ?? 16 } = icon;
  if (typeof body !== "string" || !(width > 0 && height > 0)) return refuse("has no body or no size");
  return { body: isFlipped ? `<g transform="translate(${width} 0) scale(-1 1)">${body}</g>` : body, width, height };
}
