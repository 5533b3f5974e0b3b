/**
 * The pictures of `nudge tour`: lists of emoji for training, and one style that is withheld from all of it.
 *
 * Every picture for training shows another emoji. If several styles showed the same one, each would say what the others
 * look like, and an accuracy on a held-out style would say little about a new one.
 */
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { PictureDataset } from "../data/dataset.js";
import { emojiOf, emojiParts } from "../data/emoji-split.js";

export interface TourLists {
  /** Manifests for training and for the withheld style. */
  readonly train: string;
  readonly test: string;
  readonly trained: number;
}

/** The domains in the list of the withheld style. */
export const SEEN = "emoji that another style showed in training";
export const NEW = "new emoji";

/** Writes the lists into a folder. */
export function writeTourLists(
  dataset: PictureDataset,
  folder: string,
  { styles, withheld }: { styles: readonly string[]; withheld: string },
): TourLists {
  const domainOf = (name: string) => dataset.domains.find((domain) => domain.name === name)!;
  const row = (style: string, place: number, domain: string): string => {
    const { files, labels } = domainOf(style);
    return [relative(folder, join(dataset.root, files[place])), dataset.classes[labels[place]], domain].join(",");
  };
  const { files, labels } = domainOf(withheld);
  const parts = emojiParts(new Map(files.map((file, i) => [emojiOf(file), labels[i]])), {
    ...{ trialSeed: 0, holdout: 0, newEmoji: 0.3 },
  });
  const isNew = files.map((file) => parts.get(emojiOf(file)) === "new");
  const seen = [...files.keys()].filter((i) => !isNew[i]);
  // All styles have the same emoji in the same order, and emoji of one class follow each other.
  const train = seen.map((place, i) => row(styles[i % styles.length], place, styles[i % styles.length]));
  const test = [...files.keys()].map((place) => row(withheld, place, isNew[place] ? NEW : SEEN));
  const write = (name: string, rows: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, `path,label,domain\n${rows.join("\n")}\n`);
    return path;
  };
  return { train: write("train.csv", train), test: write(`${withheld}.csv`, test), trained: train.length };
}
