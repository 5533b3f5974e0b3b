/** The sets of emoji that npm has, one per line in `data/emoji-sets.jsonl`, and the classes of emoji (scripts/make-emoji.mjs). */
import { readFileSync } from "node:fs";
import { unknownName } from "../closest-name.js";
import type { NpmPackage } from "../download/npm-tarball.js";
import { UsageError } from "../errors.js";

export interface EmojiSet {
  /** The name of the style, and of its folder. */
  readonly style: string;
  readonly title: string;
  readonly author: string;
  readonly page: string;
  readonly licence: string;
  readonly licencePage: string;
  readonly package: NpmPackage;
  /** Emoji that the set draws wrongly, with what is wrong. They are dropped. */
  readonly wrong?: Readonly<Record<string, string>>;
  /** Whether it is used only if it is named. */
  readonly optional?: true;
}

const read = (file: string): string => readFileSync(new URL(`../../data/${file}`, import.meta.url), "utf8");

let sets: readonly EmojiSet[] | undefined;

/** All sets, in the order of the file. */
export function emojiSets(): readonly EmojiSet[] {
  sets ??= read("emoji-sets.jsonl")
    .split("\n")
    .flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as EmojiSet]));
  return sets;
}

/** The sets with these styles, in the order of the file; the default ones if there are none. */
export function setsNamed(styles: readonly string[]): readonly EmojiSet[] {
  const all = emojiSets();
  const known = all.map(({ style }) => style);
  const unknown = styles.find((style) => !known.includes(style));
  if (unknown !== undefined) throw new UsageError(unknownName("style of emoji", unknown, known));
  return all.filter(({ style, optional }) => (styles.length === 0 ? !optional : styles.includes(style)));
}

/** The emoji of each class: the name of its drawing by its code. */
export type EmojiClasses = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const emojiClasses = (): EmojiClasses => JSON.parse(read("emoji-classes.json")) as EmojiClasses;
