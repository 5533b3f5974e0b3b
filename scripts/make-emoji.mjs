#!/usr/bin/env node
/**
 * Writes data/emoji-classes.json: which emoji belong to the classes of the dataset `emoji`, by Unicode's subgroups, and the
 * names of their drawings in the icon sets. It needs two unpacked npm packages, which `npm pack` fetches:
 *
 *     node scripts/make-emoji.mjs EMOJIBASE_DATA ICONIFY_JSON_NOTO [FILE]
 *
 * emojibase-data 17.0.0 has Unicode's table (MIT, after Unicode's data files). The names are those of @iconify-json/noto
 * 1.2.9, the only set with a name for each of these emoji; sets without code points use the same names.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const usual = fileURLToPath(new URL("../data/emoji-classes.json", import.meta.url));
const [emojibase, noto, out = usual] = process.argv.slice(2);
const read = (/** @type {string} */ folder, /** @type {string} */ path) =>
  JSON.parse(readFileSync(join(folder, path), "utf8"));

/** Subgroups by class. Of the faces, those with a hat, with glasses or in a costume are left to nobody. */
const CLASSES = {
  bird: ["animal-bird"],
  building: ["place-building", "place-religious"],
  clothing: ["clothing"],
  drink: ["drink"],
  face: [
    ...["smiling", "affection", "tongue", "hand", "neutral-skeptical"],
    ...["sleepy", "unwell", "concerned", "negative"],
  ].map((name) => `face-${name}`),
  hand: [
    ...["hand-fingers-open", "hand-fingers-partial", "hand-single-finger", "hand-fingers-closed"],
    ...["hands", "hand-prop"],
  ],
  mammal: ["animal-mammal"],
  meal: ["food-prepared", "food-asian", "food-sweet"],
  plant: ["plant-flower", "plant-other"],
  produce: ["food-fruit", "food-vegetable"],
  "small-animal": ["animal-bug", "animal-marine", "animal-reptile"],
  sport: ["sport"],
  tool: ["tool"],
  vehicle: ["transport-ground", "transport-air", "transport-water"],
  weather: ["sky-weather"],
};

const { subgroups } = read(emojibase, "meta/groups.json");
const names = read(noto, "chars.json");
/** @type {{ hexcode: string, subgroup?: number }[]} */
const all = read(emojibase, "en/data.json");

const classes = Object.fromEntries(
  Object.entries(CLASSES).map(([name, wanted]) => {
    const emoji = all.flatMap(({ hexcode, subgroup }) => {
      if (subgroup === undefined || !wanted.includes(subgroups[subgroup])) return [];
      const code = hexcode.toLowerCase().replaceAll("-fe0f", ""); // a mark that asks for a picture instead of a letter
      return [[code, names[code] ?? names[hexcode.toLowerCase()]]];
    });
    return [name, Object.fromEntries(emoji.sort(([a], [b]) => (a < b ? -1 : 1)))];
  }),
);
const lines = Object.entries(classes).map(([name, emoji]) => `  ${JSON.stringify(name)}: ${JSON.stringify(emoji)}`);
writeFileSync(out, `{\n${lines.join(",\n")}\n}\n`);
