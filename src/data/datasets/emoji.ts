/**
 * Emoji: one thing in several drawing styles. The styles are domains, Unicode's subgroups are classes. `nudge data get
 * emoji` renders them from npm packages.
 *
 * Two facts need a protocol of their own (emoji-split.ts): every style has the same emoji, so emoji are split and not
 * pictures; and some authors drew two of the styles, of which neither is trained on if the other is held out.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { unknownName } from "../../closest-name.js";
import { DataError, UsageError } from "../../errors.js";
import { groupBy } from "../../group-by.js";
import { list, number, option } from "../../options.js";
import { byCodePoint } from "../code-point-order.js";
import { type DatasetDefinition, defineDataset, type PictureDomain } from "../dataset.js";
import { findFolderWith } from "../discover.js";
import { creditOf, EMOJI_FILE, EMOJI_SIZE, otherPixels, otherPixelsText, readEmojiAbout } from "../emoji-about.js";
import { splitByEmoji } from "../emoji-split.js";
import { pixelsHash } from "../pixels-hash.js";
import { showName } from "../show-name.js";

/** The classes, and the number of emoji of each that the default styles share. */
const CLASSES = {
  bird: 12,
  building: 28,
  clothing: 28,
  drink: 13,
  face: 72,
  hand: 30,
  mammal: 45,
  meal: 46,
  plant: 23,
  produce: 24,
  "small-animal": 27,
  sport: 21,
  tool: 16,
  vehicle: 62,
  weather: 46,
} as const;

const classes = Object.keys(CLASSES);
const perClass = Object.values(CLASSES);
const count = perClass.reduce((sum, each) => sum + each, 0);

/** The default styles, with their headings in tables. */
const STYLES = {
  noto: "noto",
  "noto-v1": "noto v1",
  twemoji: "twemoji",
  openmoji: "openmoji",
  "fluent-emoji-flat": "fluent flat",
  "fluent-emoji-high-contrast": "fluent contrast",
  "emojione-monotone": "emojione mono",
} as const;

export interface EmojiDataset extends DatasetDefinition {
  /** Whether a folder contains emoji, at or up to two levels below it. */
  isIn(root: string): Promise<boolean>;
}

const locate = (root: string): Promise<string | undefined> => findFolderWith(root, [EMOJI_FILE]);

const definition = defineDataset({
  id: "emoji",
  title: "Emoji",
  summary: "emoji of fifteen kinds in the styles of seven sets, made from npm packages",
  paper: "The Unicode Consortium, Unicode Emoji, Unicode Technical Standard 51, https://www.unicode.org/reports/tr51/",
  licence:
    "each set has its own: Apache 2.0 (noto, noto-v1), CC BY 4.0 (twemoji, emojione-monotone), CC BY-SA 4.0 (openmoji), MIT (fluent-emoji-flat, fluent-emoji-high-contrast)",
  source: "npm packages @iconify-json/*, from which nudge data get emoji renders the pictures",
  layout: "emoji/noto/mammal/1f435.png",
  needsRoot: true,
  options: {
    styles: option("", "the styles to use, separated by commas (default: all in the folder)"),
    newEmoji: option(number({ least: 0, below: 1 }), "the fraction of the emoji that no training style has", {
      default: 0.3,
    }),
  },
  published: {
    domains: Object.entries(STYLES).map(([name, label]) => ({ name, label, count, perClass })),
    classes,
    total: count * Object.keys(STYLES).length,
  },
  protocol: { steps: 1501, evaluateEvery: 100 },
  async comparePixels({ root, domains }) {
    const about = readEmojiAbout(root!);
    const differences: string[] = [];
    for (const { name, files = [] } of domains) {
      const pixels = await pixelsHash(
        files.map((file) => ({ name: file.slice(name.length + 1, -".png".length), path: join(root!, file) })),
      );
      if (pixels !== about.styles.find(({ style }) => style === name)!.pixels)
        differences.push(`domain ${name}: its pictures are not those that were rendered; make the folder again`);
    }
    const others = otherPixels(about);
    return [...differences, ...(others.length > 0 ? [otherPixelsText(others, about)] : [])];
  },
  tested: { in: "new emoji", out: "emoji that were trained on in other styles" },
  async open({ root, options: { styles: given, newEmoji } }) {
    const wanted = list.read("data.styles", given);
    const folder = await locate(root);
    if (folder === undefined)
      throw new DataError(
        `dataset emoji: expected a folder with ${EMOJI_FILE} at ${showName(root)} or up to two levels below; found none. Make it: nudge data get emoji --root DIR (about 11 MB from npm)`,
      );
    const { styles: all, changes, size } = readEmojiAbout(folder);
    const names = all.map(({ style }) => style);
    const unknown = wanted.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new UsageError(
        `${unknownName("style", unknown, names)}. To make others: nudge data get emoji --styles ${[...names, unknown].join(",")} --root NEW_DIR`,
      );
    const styles = all.filter(({ style }) => wanted.length === 0 || wanted.includes(style));
    const authors = groupBy(styles, ({ author }) => author);
    return {
      id: "emoji",
      title: "Emoji",
      kind: "pictures",
      root: folder,
      hasDomains: true,
      inputShape: [3, 224, 224],
      augmentable: true,
      options: { styles: styles.map(({ style }) => style).join(","), newEmoji },
      classes,
      domains: styles.map(({ style }) => domainIn(folder, style)),
      notes:
        size === EMOJI_SIZE ? [] : [`the pictures have ${size} × ${size} pixels; published numbers are of 224 × 224`],
      credits: styles.map((each) => creditOf(each, changes)),
      grouped: {
        related: [...authors.values()].map((own) => own.map(({ style }) => style)),
        split: (domains, options) => splitByEmoji(domains, { ...options, newEmoji }),
      },
    };
  },
});

/** The pictures of a style, by class and code. A style can lack a class. */
function domainIn(folder: string, style: string): PictureDomain {
  const files: string[] = [];
  const labels: number[] = [];
  for (const [label, name] of classes.entries())
    for (const file of picturesIn(join(folder, style, name))) {
      files.push(`${style}/${name}/${file}`);
      labels.push(label);
    }
  if (files.length === 0)
    throw new DataError(
      `dataset emoji in ${showName(folder)}: style ${showName(style)} has no pictures; make the folder again: nudge data get emoji`,
    );
  return { name: style, count: files.length, files, labels: Int32Array.from(labels) };
}

function picturesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => /^[0-9a-f-]+\.png$/.test(file))
      .sort(byCodePoint);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw new DataError(`dataset emoji: reading ${showName(folder)}: ${(cause as Error).message}`, { cause });
  }
}

export const emoji: EmojiDataset = { ...definition, isIn: async (root) => (await locate(root)) !== undefined };
