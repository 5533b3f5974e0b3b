/**
 * Reads a packed study (docs/packs.md): its blocks in order, of which only a few are in memory, and the files of its
 * runs. Damaged parts are skipped and noted. The positions of files are stored, so that they can be read again.
 */

import { join } from "node:path";
import { byCodePoint } from "../data/code-point-order.js";
import { DataError } from "../errors.js";
import type { StoredFiles } from "../files/stored-files.js";
import { type BlockPlace, isPack, MOST_RAW, readBlock, readBlocks } from "./block.js";
import { padded, parseTarHeader, paxName, TAR_UNIT, type TarEntry } from "./tar.js";

/** The file extension of packs. */
export const PACK_ENDING = ".nudge";

/** Whether a file name is that of a pack. */
export const isPackName = (name: string): boolean => name.endsWith(PACK_ENDING);

/** The default folder for unpacking. */
export const withoutPackEnding = (path: string): string =>
  isPackName(path) ? path.slice(0, -PACK_ENDING.length) : `${path}-unpacked`;

/** The first file of each run in a pack. */
export const FIRST_FILE = "settings.json";

/** The number of blocks that are kept decompressed, of half a megabyte each. */
const MOST_KEPT = 4;

/** The maximum length of a text that is read at once. */
const MOST_TEXT = 1 << 28;

/** The maximum number of runs that are read, more than any study has. */
const MOST_RUNS = 1_000_000;

/** The maximum number of problems that are described. More are counted. */
const MOST_NOTES = 50;

/** A packed study. */
export class PackFile {
  /** The files of the study itself, such as its plan. They are complete when the first run is read. */
  study: PackedFiles;
  private found: PackedFiles[] = [];
  private problems: string[] = [];
  private unsaid = 0;
  private readonly blocks: (BlockPlace | undefined)[] = [];
  private readonly kept = new Map<number, Buffer<ArrayBuffer>>();
  private readonly shared = new Map<string, string>();
  private isRead = false;

  /** `shown` is the name of the file in messages. */
  constructor(
    readonly path: string,
    private readonly shown = path,
  ) {
    if (!isPack(path))
      throw new DataError(
        `${shown}: not a packed study: it does not begin as one does. Packs are made with: nudge pack SWEEP --out STUDY${PACK_ENDING}`,
      );
    this.study = new PackedFiles(this, shown);
  }

  /** The runs, sorted by name. The first call reads the file. */
  *runs(): Generator<PackedFiles> {
    if (this.isRead) {
      yield* this.found;
      return;
    }
    [this.found, this.problems, this.unsaid] = [[], [], 0];
    this.study = new PackedFiles(this, this.shown);
    const scan = new Scan(this, this.shown);
    for (const block of readBlocks(this.path)) {
      if ("damaged" in block) {
        this.note(`${this.shown}: ${block.damaged}; its runs were skipped`);
        scan.lose();
        continue;
      }
      this.blocks[block.place.number] = block.place;
      this.keep(block.place.number, block.raw);
      for (const run of scan.add(block.place, block.raw)) {
        this.found.push(run);
        yield run;
      }
    }
    scan.end();
    this.isRead = true;
  }

  /** The problems in what has been read so far. */
  get notes(): readonly string[] {
    const more = this.unsaid > 0 ? [`${this.shown}: and ${this.unsaid} more problems like these`] : [];
    return [...this.problems, ...more];
  }

  note(problem: string): void {
    if (this.problems.length < MOST_NOTES) this.problems.push(problem);
    else this.unsaid++;
  }

  /** Returns one shared string for equal strings. */
  once(text: string): string {
    const known = this.shared.get(text);
    if (known !== undefined) return known;
    if (this.shared.size < MOST_SHARED) this.shared.set(text, text);
    return text;
  }

  /** The bytes of a file that starts in a block and may continue in the next ones. */
  *bytes({ block, at, size }: Place): Generator<Buffer> {
    let [left, from] = [size, at];
    for (let number = block; left > 0; number++) {
      const piece = Buffer.from(this.content(number).subarray(from, from + left)); // a copy, because the memory is reused
      yield piece;
      left -= piece.length;
      from = 0;
    }
  }

  /** The same bytes as text. Most files are in one block, and are read without a copy of their bytes. */
  text(place: Place): string {
    const { block, at, size } = place;
    const isWhole = size > 0 && at + size <= this.content(block).length;
    return isWhole
      ? this.content(block).toString("utf8", at, at + size)
      : Buffer.concat([...this.bytes(place)]).toString("utf8");
  }

  private content(number: number): Buffer {
    const place = this.blocks[number];
    if (!place) throw new DataError(`${this.shown}: block ${number} is damaged or missing`);
    return this.kept.get(number) ?? this.keep(number, readBlock(this.path, place));
  }

  /** Copies a block to the memory of the one that was read first. A new buffer for each block would make V8 collect garbage ten times as often. */
  private keep(number: number, raw: Buffer): Buffer<ArrayBuffer> {
    const [oldest] = this.kept.keys();
    const isFull = this.kept.size === MOST_KEPT;
    const memory = isFull ? this.kept.get(oldest)!.buffer : new ArrayBuffer(MOST_RAW);
    if (isFull) this.kept.delete(oldest);
    const block = Buffer.from(memory, 0, raw.length);
    raw.copy(block);
    this.kept.set(number, block);
    return block;
  }
}

/** File names that all runs share. There are about a dozen. */
const MOST_SHARED = 100;

/** The start of a file (block and offset) and its size. */
interface Place {
  readonly block: number;
  readonly at: number;
  readonly size: number;
}

/** From this number of files on, names are looked up in a map. */
const MANY = 20;

/** The files of a run in a pack, or those of the study itself. */
export class PackedFiles implements StoredFiles {
  private readonly files: string[] = [];
  /** Block, offset and size of each file in one array, because there may be a hundred thousand runs. */
  private readonly places: number[] = [];
  private index: Map<string, number> | undefined;
  private seconds = 0;

  /** `folder` is the folder in the pack. */
  constructor(
    private readonly pack: PackFile,
    readonly path: string,
    readonly folder = "",
  ) {}

  add(name: string, { block, at, size }: Place, seconds: number): void {
    this.files.push(name);
    this.places.push(block, at, size);
    this.seconds = seconds;
    this.index = undefined;
  }

  private place(name: string): Place | undefined {
    if (this.files.length > MANY) this.index ??= new Map(this.files.map((file, i) => [file, i]));
    const i = this.index ? (this.index.get(name) ?? -1) : this.files.indexOf(name);
    if (i < 0) return undefined;
    return { block: this.places[3 * i], at: this.places[3 * i + 1], size: this.places[3 * i + 2] };
  }

  has(name: string): boolean {
    return this.place(name) !== undefined;
  }

  text(name: string): string | undefined {
    const place = this.place(name);
    if (place === undefined) return undefined;
    if (place.size > MOST_TEXT)
      throw new DataError(`${join(this.path, name)}: ${place.size} bytes are more than a file of a run has`);
    return this.pack.text(place);
  }

  pieces(name: string): Iterable<Buffer> | undefined {
    const place = this.place(name);
    return place && this.pack.bytes(place);
  }

  names(folder: string): string[] {
    const start = `${folder}/`;
    return this.files.filter((name) => name.startsWith(start)).map((name) => name.slice(start.length));
  }

  /** All of these files. */
  get all(): readonly string[] {
    return this.files;
  }

  time(name: string): number {
    return this.has(name) ? 1000 * this.seconds : 0;
  }
}

/** Iterates over the entries of the archive, block by block. */
class Scan {
  private run: PackedFiles | undefined;
  /** Runs that have been read completely. */
  private readonly whole: PackedFiles[] = [];
  /** The number of bytes of the current entry that are in later blocks. */
  private left = 0;
  /** The long name of the next entry. */
  private longName: string | undefined;
  private before = "";
  private count = 0;
  /** Whether the previous block is missing. */
  private isLost = false;
  private isOver = false;

  constructor(
    private readonly pack: PackFile,
    private readonly shown: string,
  ) {}

  /** A block, or the rest of one, is missing, so the entry that continues in it is lost. */
  lose(): void {
    if (this.run) this.pack.note(`${this.run.path}: skipped: a part of it is missing`);
    [this.run, this.longName, this.left, this.isLost] = [undefined, undefined, 0, true];
  }

  /** The runs that are complete after this block. */
  *add({ number, carried, goesOn }: BlockPlace, raw: Buffer): Generator<PackedFiles> {
    let at = this.isLost ? carried : Math.min(this.left, raw.length);
    this.left -= this.isLost ? 0 : at;
    this.isLost = false;
    while (at < raw.length && !this.isOver) {
      const entry = parseTarHeader(raw, at);
      at += TAR_UNIT;
      if (entry === "end") this.isOver = true;
      else if (entry === undefined) {
        this.pack.note(`${this.shown}: block ${number} has bytes that are no file; the rest of it was skipped`);
        this.lose();
        break;
      } else {
        this.enter(entry, { block: number, at, size: entry.size }, raw);
        at += padded(entry.size);
        this.left = Math.max(0, at - raw.length);
      }
    }
    if (!goesOn) this.finish();
    yield* this.whole.splice(0);
  }

  private finish(): void {
    if (this.run) this.whole.push(this.run);
    this.run = undefined;
  }

  private enter({ type, name: short, time }: TarEntry, place: Place, raw: Buffer): void {
    if (type === "x") {
      this.longName = paxName(raw.subarray(place.at, place.at + place.size));
      return;
    }
    const name = this.longName ?? short;
    this.longName = undefined;
    const { pack, shown } = this;
    if (type !== "0" || !isSafe(name)) {
      pack.note(`${shown}: skipped ${JSON.stringify(name.slice(0, 200))}, which is no plain file inside it`);
      return;
    }
    if (name.endsWith(`/${FIRST_FILE}`)) this.begin(name.slice(0, -FIRST_FILE.length - 1));
    const files = this.run ?? (this.count === 0 ? pack.study : undefined);
    if (!files) return; // part of a run that is skipped
    const start = files.folder === "" ? "" : `${files.folder}/`;
    if (name.startsWith(start)) files.add(pack.once(name.slice(start.length)), place, time);
    else pack.note(`${shown}: skipped ${name}, which belongs to no run`);
  }

  private begin(folder: string): void {
    this.finish();
    const isNew = this.count === 0 || byCodePoint(folder, this.before) > 0;
    if (!isNew) this.pack.note(`${this.shown}: skipped ${folder}, which comes twice or out of order`);
    if (this.count === MOST_RUNS) this.pack.note(`${this.shown}: skipped what follows ${MOST_RUNS} runs`);
    if (!isNew || this.count++ >= MOST_RUNS) return;
    this.before = folder;
    this.run = new PackedFiles(this.pack, join(this.shown, folder), folder);
  }

  end(): void {
    if (this.isOver) return;
    this.lose();
    this.pack.note(`${this.shown}: the file is cut short: it has no end, so there were more files than could be read`);
  }
}

/** Whether a name stays inside the folder into which it is unpacked. */
const isSafe = (name: string): boolean => !/[\\\0]|(^|\/)\.{0,2}(\/|$)/.test(name);
