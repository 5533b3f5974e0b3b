/**
 * Creates the folder of the dataset `emoji`: fetches the sets from npm and renders the emoji that all of them have.
 *
 *     data/.get-emoji/       packages and pictures, until the dataset is complete
 *     data/.get-emoji.lock/  the lock of the process that works on it
 *     data/emoji/            the dataset: emoji.json, and per style LICENCE.txt and class/code.png
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  creditOf,
  EMOJI_FILE,
  EMOJI_SIZE,
  type EmojiAbout,
  type EmojiStyle,
  otherPixels,
  readEmojiAbout,
} from "../data/emoji-about.js";
import { PixelsHash } from "../data/pixels-hash.js";
import { countOf, listNames, showName } from "../data/show-name.js";
import { type NpmOptions, npmSpec, npmTarballName } from "../download/npm-tarball.js";
import { DataError, UsageError } from "../errors.js";
import { FolderLock } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { DRAWING_FILES, type Drawing, drawingsOf } from "./emoji-drawings.js";
import { type EmojiSet, emojiClasses, setsNamed } from "./emoji-sets.js";
import { getNpmFiles } from "./npm-package.js";
import { CHANGES, pictureFile, renderDrawing, renderer } from "./render-drawing.js";

/** A border of at least one pixel, and no picture that fills the memory. */
const SIZES = { least: 14, most: 2048 };

export interface GetEmojiOptions {
  /** The folder that contains datasets. */
  readonly root: string;
  /** The styles (default: the seven of the benchmark). */
  readonly styles?: readonly string[];
  /** The sets of these styles (default: those in data/emoji-sets.jsonl). */
  readonly sets?: readonly EmojiSet[];
  /** The width and height of the pictures (default: 224). */
  readonly size?: number;
  /** Tarballs of the packages on this machine, as `npm pack` names them. The others are downloaded. */
  readonly from?: readonly string[];
  /** Keep the packages. */
  readonly keep?: boolean;
  /** Receives messages for the user. */
  say?(text: string): void;
  progress?(what: string, done: number, total: number | null): void;
  readonly downloading?: (name: string) => NpmOptions;
}

export interface GotEmoji {
  readonly folder: string;
  readonly already: boolean;
  readonly about: EmojiAbout;
  /** The styles whose pixels are not those of published numbers. */
  readonly otherPixels: readonly string[];
}

/** The folder of the dataset. */
export const emojiFolder = (root: string): string => join(root, "emoji");

/**
 * Creates the folder of the dataset `emoji`: downloads drawings through npm, and renders them. A folder that exists is
 * kept.
 *
 * @example await getEmoji({ root: "data" }); const dataset = await openDataset("emoji", { root: "data" });
 */
export async function getEmoji(options: GetEmojiOptions): Promise<GotEmoji> {
  const { root, styles = [], size = EMOJI_SIZE, say = () => {} } = options;
  if (!Number.isSafeInteger(size) || size < SIZES.least || size > SIZES.most)
    throw new UsageError(`--size: expected a number of pixels from ${SIZES.least} to ${SIZES.most}, got ${size}`);
  const { sets = setsNamed(styles) } = options;
  if (sets.length < 2) throw new UsageError("--styles: expected at least two styles, which are the domains");
  makeFolder(root);
  const folder = emojiFolder(root);
  const work = join(root, ".get-emoji");
  using lock = await FolderLock.take(`${work}.lock`, {
    onWait: () => say(`another process is getting emoji in ${root}: waiting for it`),
  });
  if (existsSync(folder)) {
    const asked = styles.length > 0 || options.sets ? sets.map(({ style }) => style) : undefined;
    const about = existing(folder, asked, options.size);
    lock.finish();
    return { folder, already: true, about, otherPixels: otherPixels(about) };
  }
  const tarballs = tarballsIn(options.from ?? [], sets);
  const drawings = new Map<EmojiSet, Drawing[]>();
  for (const set of sets) {
    const packed = join(work, "packages", `${set.package.name.split("/").at(-1)}-${set.package.version}`);
    const from = tarballs.get(set);
    const downloading = options.downloading?.(npmSpec(set.package));
    await getNpmFiles(set.package, DRAWING_FILES, packed, { ...downloading, ...(from !== undefined && { from }) });
    drawings.set(set, drawingsOf(set, packed, emojiClasses()));
  }
  const shared = sharedCodes([...drawings.values()]);
  if (shared.size === 0) throw new DataError(`${listNames(sets.map(({ style }) => style))} have no emoji in common`);
  say(`rendering ${countOf(shared.size, "emoji", "emoji")} that ${sets.length} styles share`);
  const arranged = join(work, "arranged");
  rmSync(arranged, { recursive: true, force: true });
  const rendered: EmojiStyle[] = [];
  const report = (done: number): void =>
    options.progress?.("rendering pictures", rendered.length * shared.size + done, sets.length * shared.size);
  for (const [set, all] of drawings) {
    const own = all.filter(({ code }) => shared.has(code));
    const pixels = await renderSet(set, own, { to: arranged, size, report });
    const { package: from, optional: _, wrong: __, ...facts } = set;
    const style = { ...facts, package: npmSpec(from), pixels };
    writeFileSync(
      join(arranged, set.style, "LICENCE.txt"),
      `${creditOf(style, CHANGES)}\nsource: npm ${style.package}\n`,
    );
    rendered.push(style);
  }
  const about: EmojiAbout = { format: 1, size, changes: CHANGES, renderer: renderer(), styles: rendered };
  writeFileSync(join(arranged, EMOJI_FILE), `${JSON.stringify(about, null, 2)}\n`);
  if (!lock.held) throw new DataError(`${folder}: another process took over, because this one did not respond`);
  renameSync(arranged, folder);
  if (!options.keep) rmSync(work, { recursive: true, force: true });
  lock.finish();
  return { folder, already: false, about, otherPixels: otherPixels(about) };
}

/** The description of a folder that exists, if it is what is asked for. */
function existing(folder: string, styles: readonly string[] | undefined, size: number | undefined): EmojiAbout {
  if (!existsSync(join(folder, EMOJI_FILE))) {
    const names = readdirSync(folder);
    throw new UsageError(
      `${showName(folder)} exists and is no folder of emoji (${names.length === 0 ? "it is empty" : listNames(names, 3)}): move it away, or use another --root`,
    );
  }
  const about = readEmojiAbout(folder);
  const there = about.styles.map(({ style }) => style);
  const same = styles === undefined || styles.toSorted().join() === there.toSorted().join();
  if (!same || (size !== undefined && size !== about.size))
    throw new UsageError(
      `${showName(folder)} exists and has ${there.join(", ")} at ${about.size} × ${about.size} pixels, which is not what was asked for: move it away, or use another --root. To train on some of its styles: data.styles=A,B`,
    );
  return about;
}

/** The given tarball of each set. */
function tarballsIn(from: readonly string[], sets: readonly EmojiSet[]): Map<EmojiSet, string> {
  const found = new Map<EmojiSet, string>();
  for (const path of from) {
    const set = sets.find((each) => npmTarballName(each.package) === basename(path));
    if (!set)
      throw new UsageError(
        `--from ${path}: expected a tarball that npm pack made, with its name: ${listNames(
          sets.map((each) => npmTarballName(each.package)),
          9,
        )}`,
      );
    found.set(set, path);
  }
  return found;
}

/** The codes that all sets have. */
function sharedCodes([first, ...others]: readonly (readonly Drawing[])[]): Set<string> {
  const rest = others.map((drawings) => new Set(drawings.map(({ code }) => code)));
  return new Set(first.map(({ code }) => code).filter((code) => rest.every((codes) => codes.has(code))));
}

/** How many pictures are rendered at once. */
const AT_ONCE = 8;

/** Renders the drawings of a set. Returns the hash of their pixels. */
async function renderSet(
  { style, package: from }: EmojiSet,
  drawings: readonly Drawing[],
  { to, size, report }: { to: string; size: number; report: (done: number) => void },
): Promise<string> {
  const hash = new PixelsHash();
  for (const label of new Set(drawings.map((each) => each.class)))
    mkdirSync(join(to, style, label), { recursive: true });
  for (let start = 0; start < drawings.length; start += AT_ONCE) {
    const some = drawings.slice(start, start + AT_ONCE);
    await Promise.all(
      some.map(async (drawing) => {
        const { png, pixels } = await renderDrawing(drawing, size, npmSpec(from));
        hash.add(`${drawing.class}/${drawing.code}`, pixels);
        await writeFile(join(to, pictureFile(style, drawing)), png);
      }),
    );
    report(start + some.length);
  }
  return hash.value;
}
