/**
 * The split of emoji. The same emoji exists in every style, so a model can recognise an emoji that it saw in another
 * style and know nothing of its class. Therefore emoji are split, and not pictures, the same for all styles of a trial:
 *
 * - new emoji are in no training style. In the held-out style they are its `in`, the pictures that tables report;
 * - of the others, a fraction is the validation of the training styles, whose emoji are not trained on either;
 * - the rest is trained on. In the held-out style, these emoji are its `out`: a new style of emoji that were seen.
 *
 * Every class has its share of each part. The choice depends on the trial seed and the emoji's code, so it is the same
 * for every choice of styles with the same emoji.
 */
import { basename, extname } from "node:path";
import { textHash } from "../files/canonical-json.js";
import { groupBy } from "../group-by.js";
import { byCodePoint } from "./code-point-order.js";
import type { Domain } from "./dataset.js";
import type { DomainSplit, Split } from "./split.js";

/** The parts of the emoji of a trial. */
export type EmojiPart = "new" | "validation" | "training";

/** Emoji that most sets draw as mirror images of each other. They are in the same part. */
const MIRRORED: Readonly<Record<string, string>> = {
  "1f449": "1f448", // backhand index pointing right, left
  "1f91c": "1f91b", // right-facing fist, left-facing fist
  "1f318": "1f312", // waning crescent moon, waxing crescent moon
  "1f317": "1f313", // last quarter moon, first quarter moon
  "1f316": "1f314", // waning gibbous moon, waxing gibbous moon
  "1f31c": "1f31b", // last quarter moon face, first quarter moon face
};

/** The emoji of a picture, from its name. */
export const emojiOf = (file: string): string => basename(file, extname(file));

export interface EmojiSplitOptions {
  readonly trialSeed: number;
  readonly testDomains: readonly string[];
  /** The fraction of the emoji that are not new that is `out`. */
  readonly holdout: number;
  /** The fraction of all emoji that are new. */
  readonly newEmoji: number;
}

/** The part of each emoji. `classes` has the class of each. */
export function emojiParts(
  classes: ReadonlyMap<string, number>,
  { trialSeed, holdout, newEmoji }: Omit<EmojiSplitOptions, "testDomains">,
): Map<string, EmojiPart> {
  const parts = new Map<string, EmojiPart>();
  for (const [, emoji] of groupBy(classes.keys(), (code) => classes.get(code)!)) {
    const units = [...groupBy(emoji, (code) => MIRRORED[code] ?? code)]
      .map(([name, codes]) => ({ key: textHash(`${trialSeed}\n${name}`), codes }))
      .sort((a, b) => byCodePoint(a.key, b.key));
    const fresh = Math.round(newEmoji * emoji.length);
    const validation = fresh + Math.round(holdout * (emoji.length - fresh));
    let done = 0;
    for (const { codes } of units) {
      // A pair that crosses a border belongs to the part in which it begins.
      const part = done < fresh ? "new" : done < validation ? "validation" : "training";
      for (const code of codes) parts.set(code, part);
      done += codes.length;
    }
  }
  return parts;
}

/** The split of a dataset of emoji, whose files are named by their codes. */
export function splitByEmoji(domains: readonly Domain[], options: EmojiSplitOptions): Split {
  const classes = new Map<string, number>();
  for (const { files = [], labels } of domains)
    for (const [i, file] of files.entries()) classes.set(emojiOf(file), labels[i]);
  const parts = emojiParts(new Map([...classes].sort(([a], [b]) => byCodePoint(a, b))), options);
  return new Map(
    domains.map(({ name, files = [] }): [string, DomainSplit] => {
      const keys = files.map((file) => textHash(`${options.trialSeed}\n${name}\n${emojiOf(file)}`));
      const order = [...keys.keys()].sort((a, b) => byCodePoint(keys[a], keys[b]));
      const those = (part: EmojiPart): number[] => order.filter((i) => parts.get(emojiOf(files[i])) === part);
      const isTest = options.testDomains.includes(name);
      return [
        name,
        isTest
          ? { in: those("new"), out: those("training"), uda: [] }
          : { in: those("training"), out: those("validation"), uda: [] },
      ];
    }),
  );
}
