/** Small sets of emoji in a registry of their own, instead of the real ones. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmTarballName } from "../../src/download/npm-tarball.js";
import type { EmojiSet } from "../../src/get-data/emoji-sets.js";
import { tarGzOf } from "./archives.js";
import type { TestRegistry } from "./npm-registry.js";

/** Emoji of three classes: their codes and the names that sets use. */
export const SMALL = {
  bird: {
    ...{ "1f413": "rooster", "1f414": "chicken", "1f423": "hatching-chick", "1f424": "baby-chick", "1f426": "bird" },
    ...{ "1f427": "penguin", "1f54a": "dove", "1f983": "turkey", "1f985": "eagle", "1f986": "duck", "1f989": "owl" },
  },
  drink: {
    ...{ "1f375": "teacup-without-handle", "1f376": "sake", "1f377": "wine-glass", "1f378": "cocktail-glass" },
    ...{ "1f379": "tropical-drink", "1f37a": "beer-mug", "1f37b": "clinking-beer-mugs", "1f37c": "baby-bottle" },
  },
  hand: {
    ...{ "1f448": "backhand-index-pointing-left", "1f449": "backhand-index-pointing-right", "1f44b": "waving-hand" },
    ...{ "1f44c": "ok-hand", "1f44d": "thumbs-up", "1f44e": "thumbs-down", "1f44f": "clapping-hands" },
  },
} as const;

const CODES = Object.values(SMALL).flatMap((emoji) => Object.entries(emoji));

interface Style {
  readonly style: string;
  readonly author: string;
  readonly colour: string;
  readonly withChars?: boolean;
}

const STYLES: readonly Style[] = [
  { style: "ink", author: "Ann", colour: "#c00", withChars: true },
  { style: "ink-bold", author: "Ann", colour: "#0a0" },
  { style: "pencil", author: "Bea", colour: "currentColor" },
  { style: "chalk", author: "Cem", colour: "#00c" },
];

/** A drawing that is different for every emoji and not symmetric. */
const body = (place: number, colour: string): string =>
  `<path fill="${colour}" d="M0 0h${6 + (place % 13)}v${30 - (place % 11)}H0z"/><circle cx="${4 + place}" cy="26" r="4" fill="#888"/>`;

/** The files of the package of a style. `change` edits the icons. */
export function filesOf(
  { colour, withChars }: Pick<Style, "colour" | "withChars">,
  change: (icons: Record<string, object>) => void = () => {},
): Record<string, string> {
  const icons: Record<string, object> = {};
  for (const [place, [, name]] of CODES.entries()) icons[name] = { body: body(place, colour) };
  // One is the mirror image of another, as in real sets.
  delete icons["backhand-index-pointing-right"];
  change(icons);
  const aliases = { "backhand-index-pointing-right": { parent: "backhand-index-pointing-left", hFlip: true } };
  return {
    "icons.json": JSON.stringify({ prefix: "small", icons, aliases, width: 32, height: 32 }),
    "chars.json": JSON.stringify(withChars ? Object.fromEntries(CODES.filter(([code]) => code !== "1f449")) : {}),
  };
}

const factsOf = ({ style, author }: Style) => ({
  style,
  author,
  title: `The ${style} set`,
  page: `https://example.org/${style}`,
  licence: "MIT",
  licencePage: "https://example.org/licence",
});

/** Adds packages to a registry, each of a style with its own colour. Returns the sets. */
export const addSmallSets = (registry: TestRegistry, styles: readonly string[]): EmojiSet[] =>
  styles.map((style, i) => {
    const { author, colour } = STYLES[i % STYLES.length];
    return {
      ...factsOf({ style, author, colour }),
      package: registry.add(`@small/${style}`, "1.0.0", filesOf({ colour })),
    };
  });

/** Tarballs of all packages in a folder, and their sets. */
export function packSmallSets(folder: string): { sets: EmojiSet[]; from: string[] } {
  const from: string[] = [];
  const sets = STYLES.map((each) => {
    const name = `@small/${each.style}`;
    const tarball = tarGzOf(
      Object.entries(filesOf(each)).map(([path, content]) => ({ name: `package/${path}`, content })),
    );
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const wanted = { name, version: "1.0.0", integrity, bytes: tarball.length };
    from.push(join(folder, npmTarballName(wanted)));
    writeFileSync(from.at(-1)!, tarball);
    return { ...factsOf(each), package: wanted };
  });
  return { sets, from };
}
