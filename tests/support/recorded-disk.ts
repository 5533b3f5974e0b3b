/**
 * A disk that remembers what was written to it and when it was synced, and can say what a power cut at any moment may leave: in the
 * spirit of SQLite's crash tests. Put it under the program's own file calls in a test:
 *
 *     vi.mock("node:fs", async () => (await import("../support/recorded-disk.js")).recordedFs());
 *     const disk = recordDisk(folder);      // from now on
 *     …                                     // the program writes into the folder, as ever
 *     const log = disk.stop();
 *     log.leave(place, { after: 17, seed: 3 });
 *
 * What was synced is there. Of what was not, writes are kept, lost, cut short, replaced by zeros or kept without those before them;
 * names in a folder (made, linked, renamed, removed) are kept, lost, or kept without those before them until that folder itself
 * is synced. Every other seed is a kinder file system, on which syncing a file makes its name survive too, as on ext4.
 */

import { basename, dirname, relative, resolve, sep } from "node:path";
import { keyedRandom, type Philox } from "../../src/engine/philox.js";

const fs = process.getBuiltinModule("node:fs"); // the real one, whatever a test puts in its place

const { O_RDONLY, O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_TRUNC } = fs.constants;

/** Flags that make or change a file. */
const WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

const FLAGS: ReadonlyMap<string, number> = new Map([
  ["r", O_RDONLY],
  ["r+", O_RDWR],
  ["w", O_WRONLY | O_CREAT | O_TRUNC],
  ["wx", O_WRONLY | O_CREAT | O_TRUNC | O_EXCL],
  ["w+", O_RDWR | O_CREAT | O_TRUNC],
  ["wx+", O_RDWR | O_CREAT | O_TRUNC | O_EXCL],
  ["a", O_WRONLY | O_CREAT | O_APPEND],
  ["a+", O_RDWR | O_CREAT | O_APPEND],
]);

type Id = number;
type Op =
  | { kind: "make" | "link"; folder: Id; name: string; id: Id; isFolder: boolean }
  | { kind: "remove"; folder: Id; name: string }
  | { kind: "rename"; from: Id; name: string; to: Id; as: string; id: Id }
  | { kind: "write"; id: Id; at: number; bytes: Buffer }
  | { kind: "cut"; id: Id; size: number }
  | { kind: "sync"; id: Id };

interface Node {
  readonly id: Id;
  /** Undefined for a file. */
  readonly children?: Map<string, Node>;
}

const ROOT: Id = 0;
let current: Recorder | undefined;

/** Follows the program's calls below a folder, and knows which file each is about. */
class Recorder {
  readonly ops: Op[] = [];
  private readonly root: Node = { id: ROOT, children: new Map() };
  private readonly files = new Map<number, { node: Node; append: boolean; position: number }>();
  private ids = ROOT;

  constructor(private readonly folder: string) {}

  has(path: unknown): path is string {
    return typeof path === "string" && !relative(this.folder, resolve(path)).startsWith("..");
  }

  node(path: string): Node | undefined {
    const way = relative(this.folder, resolve(path));
    let at: Node | undefined = this.root;
    for (const name of way === "" ? [] : way.split(sep)) at = at?.children?.get(name);
    return at;
  }

  private parent(path: string): Node {
    const parent = this.node(dirname(resolve(path)));
    if (!parent?.children) throw new Error(`recorded disk: no folder was seen to be made for ${path}`);
    return parent;
  }

  make(path: string, isFolder: boolean): Node {
    const node: Node = { id: ++this.ids, ...(isFolder && { children: new Map() }) };
    return this.put("make", path, node);
  }

  put(kind: "make" | "link", path: string, node: Node): Node {
    const parent = this.parent(path);
    parent.children!.set(basename(path), node);
    const isFolder = node.children !== undefined;
    this.ops.push({ kind, folder: parent.id, name: basename(path), id: node.id, isFolder });
    return node;
  }

  remove(path: string): void {
    const node = this.node(path);
    if (!node) return;
    for (const name of node.children?.keys() ?? []) this.remove(`${path}/${name}`);
    const parent = this.parent(path);
    parent.children!.delete(basename(path));
    this.ops.push({ kind: "remove", folder: parent.id, name: basename(path) });
  }

  rename(from: string, to: string): void {
    const node = this.node(from)!;
    const [source, target] = [this.parent(from), this.parent(to)];
    source.children!.delete(basename(from));
    target.children!.set(basename(to), node);
    this.ops.push({
      ...{ kind: "rename", from: source.id, name: basename(from), to: target.id, as: basename(to), id: node.id },
    });
  }

  opened(fd: number, path: string, flags: number): void {
    const isNew = this.node(path) === undefined;
    const node = this.node(path) ?? this.make(path, false);
    if (!isNew && flags & O_TRUNC) this.ops.push({ kind: "cut", id: node.id, size: 0 });
    this.files.set(fd, { node, append: (flags & O_APPEND) !== 0, position: 0 });
  }

  closed(fd: number): void {
    this.files.delete(fd);
  }

  wrote(fd: number, bytes: Buffer, at: number | null): void {
    const file = this.files.get(fd);
    if (!file) return;
    const begin = file.append ? fs.fstatSync(fd).size - bytes.length : (at ?? file.position);
    if (!file.append && at === null) file.position += bytes.length;
    this.ops.push({ kind: "write", id: file.node.id, at: begin, bytes: Buffer.from(bytes) });
  }

  cut(fd: number, size: number): void {
    const file = this.files.get(fd);
    if (file) this.ops.push({ kind: "cut", id: file.node.id, size });
  }

  synced(fd: number): void {
    const file = this.files.get(fd);
    if (file) this.ops.push({ kind: "sync", id: file.node.id });
  }
}

/** The flags of a call that opens a file as the numbers of the system. */
function flagsOf(flags: string | number): number {
  if (typeof flags === "number") return flags;
  const known = FLAGS.get(flags);
  if (known === undefined) throw new Error(`recorded disk: the flags ${flags} are not recorded`);
  return known;
}

/** The calls of node:fs, recorded where they are about the folder; one that changes it and is not known here is an error. */
export function recordedFs(): typeof fs & { default: typeof fs } {
  const replaced = {
    openSync(path: string, given: string | number = "r", mode?: number): number {
      const flags = flagsOf(given);
      const fd = fs.openSync(path, flags, mode);
      if (current?.has(path) && (flags & WRITES || current.node(path))) current.opened(fd, path, flags);
      return fd;
    },
    closeSync(fd: number): void {
      fs.closeSync(fd);
      current?.closed(fd);
    },
    writeSync(
      fd: number,
      data: Uint8Array | string,
      offset = 0,
      length?: number,
      position: number | null = null,
    ): number {
      const bytes =
        typeof data === "string" ? Buffer.from(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const part =
        typeof data === "string" ? bytes : bytes.subarray(offset, length === undefined ? undefined : offset + length);
      const done = fs.writeSync(fd, part, 0, part.length, position);
      current?.wrote(fd, part.subarray(0, done), position);
      return done;
    },
    writeFileSync(path: string | number, data: string | Uint8Array, options?: { flag?: string } | string): void {
      if (typeof path === "number") return void writeAll(path, data);
      if (!current?.has(path)) return void fs.writeFileSync(path, data, options as never);
      const flag = (typeof options === "object" ? options.flag : undefined) ?? "w";
      const fd = replaced.openSync(path, flag);
      writeAll(fd, data);
      replaced.closeSync(fd);
    },
    ftruncateSync(fd: number, size = 0): void {
      fs.ftruncateSync(fd, size);
      current?.cut(fd, size);
    },
    fsyncSync(fd: number): void {
      current?.synced(fd); // not to the real disk: that takes time and shows nothing
    },
    fdatasyncSync(fd: number): void {
      current?.synced(fd);
    },
    renameSync(from: string, to: string): void {
      fs.renameSync(from, to);
      if (current?.has(to)) current.rename(from, to);
    },
    linkSync(from: string, to: string): void {
      fs.linkSync(from, to);
      if (current?.has(to)) current.put("link", to, current.node(from)!);
    },
    mkdirSync(path: string, options?: { recursive?: boolean }): string | undefined {
      if (options?.recursive && current?.has(path) && !fs.existsSync(dirname(path)))
        replaced.mkdirSync(dirname(path), options);
      const isThere = fs.existsSync(path);
      const made = fs.mkdirSync(path, options);
      if (current?.has(path) && !isThere) current.make(path, true);
      return made;
    },
    rmSync(path: string, options?: object): void {
      fs.rmSync(path, options);
      if (current?.has(path)) current.remove(path);
    },
    unlinkSync: (path: string): void => replaced.rmSync(path),
  };
  const writeAll = (fd: number, data: string | Uint8Array): void => {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let done = 0; done < bytes.length; ) done += replaced.writeSync(fd, bytes, done);
  };
  const unknown = [
    "appendFileSync",
    "copyFileSync",
    "cpSync",
    "symlinkSync",
    "truncateSync",
    "createWriteStream",
  ] as const;
  const refused = Object.fromEntries(
    unknown.map((name) => [
      name,
      (...args: never[]) => {
        if (args.slice(0, 2).some((path) => current?.has(path)))
          throw new Error(`recorded disk: ${name} is not recorded`);
        return (fs[name] as (...args: never[]) => unknown)(...args);
      },
    ]),
  );
  const whole = { ...fs, ...replaced, ...refused } as typeof fs;
  return { ...whole, default: whole };
}

/** Records what is done in an empty folder, until it is stopped. */
export function recordDisk(folder: string): { stop(): DiskLog } {
  current = new Recorder(resolve(folder));
  const { ops } = current;
  return {
    stop() {
      current = undefined;
      return new DiskLog(ops);
    },
  };
}

export interface PowerCut {
  /** How many of the operations were made when the power went. */
  readonly after: number;
  /** What was lost of what was not synced follows from it. */
  readonly seed: number;
}

type Entries = Map<string, Id>;

export class DiskLog {
  constructor(private readonly ops: readonly Op[]) {}

  get length(): number {
    return this.ops.length;
  }

  /**
   * The numbers of operations before each sync, and all of them. What a disk may hold after other numbers, it may hold at the next of
   * these too: only a sync takes possibilities away.
   */
  get beforeSyncs(): number[] {
    return [...this.ops.flatMap((op, i) => (op.kind === "sync" ? [i] : [])), this.ops.length];
  }

  /** What an operation was, for the message of a test that failed. */
  describe(index: number): string {
    const op = this.ops[index];
    return op === undefined ? "the end" : JSON.stringify(op, (key, value) => (key === "bytes" ? "…" : value));
  }

  /** Puts into an empty folder what a power cut may leave. */
  leave(place: string, { after, seed }: PowerCut): void {
    const random = keyedRandom(seed, "power cut", after);
    const isKind = seed % 2 === 0;
    const folders = new Map<Id, Folder>([[ROOT, new Folder()]]);
    const files = new Map<Id, StoredFile>();
    for (const op of this.ops.slice(0, after)) {
      if (op.kind === "make" || op.kind === "link") {
        if (op.kind === "make" && op.isFolder) folders.set(op.id, new Folder());
        else if (op.kind === "make") files.set(op.id, new StoredFile());
        folders.get(op.folder)!.add((entries) => entries.set(op.name, op.id), op.id);
      } else if (op.kind === "remove") folders.get(op.folder)!.add((entries) => entries.delete(op.name));
      else if (op.kind === "rename") {
        const within = op.from === op.to;
        folders.get(op.to)!.add((entries) => {
          if (within) entries.delete(op.name);
          entries.set(op.as, op.id);
        }, op.id);
        if (!within) folders.get(op.from)!.add((entries) => entries.delete(op.name));
      } else if (op.kind === "write" || op.kind === "cut") files.get(op.id)!.waiting.push(op);
      else if (folders.has(op.id)) folders.get(op.id)!.sync();
      else {
        files.get(op.id)!.sync();
        if (isKind) for (const folder of folders.values()) folder.syncUpTo(op.id);
      }
    }
    for (const folder of folders.values()) folder.lose(random);
    for (const file of files.values()) file.lose(random);
    const write = (path: string, id: Id): void => {
      const folder = folders.get(id);
      if (!folder) return void fs.writeFileSync(path, files.get(id)!.content);
      fs.mkdirSync(path, { recursive: true });
      for (const [name, child] of folder.entries) write(`${path}/${name}`, child);
    };
    write(place, ROOT);
  }
}

/** Names in a folder: what is on disk, and changes that may be. */
class Folder {
  readonly entries: Entries = new Map();
  private waiting: { change: (entries: Entries) => void; of?: Id }[] = [];

  add(change: (entries: Entries) => void, of?: Id): void {
    this.waiting.push({ change, of });
  }

  sync(): void {
    for (const { change } of this.waiting) change(this.entries);
    this.waiting = [];
  }

  /** A journal keeps the order: with a file's own name, the changes before it are on disk. */
  syncUpTo(id: Id): void {
    const last = this.waiting.findLastIndex(({ of }) => of === id);
    for (const { change } of this.waiting.splice(0, last + 1)) change(this.entries);
  }

  lose(random: Philox): void {
    const how = random.integer(4);
    const prefix = random.integer(this.waiting.length + 1);
    this.waiting.forEach(({ change }, i) => {
      if (how === 0 || (how === 1 && i < prefix) || (how === 2 && random.bernoulli(0.5))) change(this.entries);
    });
  }
}

type Change = Extract<Op, { kind: "write" | "cut" }>;

const SECTOR = 512;

/** The content of a file: what is on disk, and writes that may be. */
class StoredFile {
  content: Buffer = Buffer.alloc(0);
  waiting: Change[] = [];

  private apply(op: Change, bytes = op.kind === "write" ? op.bytes : undefined): void {
    const size = op.kind === "cut" ? op.size : Math.max(this.content.length, op.at + bytes!.length);
    const grown = Buffer.alloc(size);
    this.content.copy(grown);
    if (op.kind === "write") bytes!.copy(grown, op.at);
    this.content = grown;
  }

  sync(): void {
    for (const op of this.waiting) this.apply(op);
    this.waiting = [];
  }

  lose(random: Philox): void {
    const how = random.integer(5);
    const prefix = random.integer(this.waiting.length + 1);
    this.waiting.forEach((op, i) => {
      const isKept = how === 0 || (how <= 2 && i < prefix) || (how === 3 && random.bernoulli(0.5));
      if (isKept) this.apply(op);
      else if (op.kind === "write" && how === 2 && i === prefix) this.apply(op, this.torn(op.bytes, random));
    });
  }

  /** Part of a write: cut short, or at full length with sectors that are zeros. */
  private torn(bytes: Buffer, random: Philox): Buffer {
    if (random.bernoulli(0.5)) return bytes.subarray(0, random.integer(bytes.length + 1));
    const left = Buffer.from(bytes);
    for (let at = 0; at < left.length; at += SECTOR)
      if (random.bernoulli(0.5)) left.fill(0, at, Math.min(at + SECTOR, left.length));
    return left;
  }
}
