import {
  appendFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { DataError } from "../errors.js";
import { ContentStore, contentOf, isStored, type StoreOptions } from "./content-store.js";

interface Facts {
  readonly colour: string;
}

const options: StoreOptions<Facts> = {
  what: "test cache",
  kind: { of: "letters", size: 3 },
  root: "/pictures",
  isWhole: ({ length, colour }) => length === 3 && typeof colour === "string",
  advice: "Name another folder",
};
const stamp = { bytes: 10, mtime: 20 };
const block = (letters: string) => ({
  content: contentOf(Buffer.from(letters)),
  bytes: Buffer.from(letters),
  facts: { colour: "red" },
});
const lettersOf = (store: ContentStore<Facts>, path: string): string | undefined => {
  const entry = store.entries.get(path);
  const bytes = isStored(entry) ? store.read(entry) : undefined;
  return bytes && Buffer.from(bytes).toString();
};

/** Adds to the store in a folder, as one process would. */
async function added(
  folder: string,
  files: Record<string, string | { problem: string }>,
  given: Partial<StoreOptions<Facts>> = {},
): Promise<void> {
  using store = new ContentStore(folder, { ...options, ...given });
  using _ = await store.take();
  for (const [path, made] of Object.entries(files))
    store.add(path, stamp, typeof made === "string" ? (store.find(block(made).content) ?? block(made)) : made);
  store.flush();
}

async function made(): Promise<string> {
  const folder = join(temporaryFolder(), "store");
  await added(folder, { "a.png": "aaa", "b.png": "bbb", "c.png": { problem: "it is empty" } });
  return folder;
}

const named = (folder: string, start: string): string[] => readdirSync(folder).filter((name) => name.startsWith(start));
const indexOf = (folder: string): string => join(folder, named(folder, "index-")[0]);
const open = (folder: string): ContentStore<Facts> => new ContentStore(folder, options);

test("added entries are visible to the next process, with the reason for missing ones", async () => {
  const folder = await made();
  using store = open(folder);
  expect([...store.entries.keys()]).toEqual(["a.png", "b.png", "c.png"]);
  expect(lettersOf(store, "b.png")).toBe("bbb");
  expect(store.entries.get("c.png")).toEqual({ path: "c.png", ...stamp, problem: "it is empty" });
  expect(store.isFresh("a.png", stamp)).toBe(true);
  expect(store.isFresh("a.png", { ...stamp, mtime: 21 })).toBe(false);
});

test("a file with the bytes of a known one gets its block, of this folder or of another one", async () => {
  const folder = await made();
  await added(folder, { "again.png": "aaa" });
  await added(folder, { "x.png": "bbb", "y.png": "yyy", "z.png": "yyy" }, { root: "/copies" });
  expect(named(folder, "blocks-").map((name) => readFileSync(join(folder, name)).length)).toEqual(
    expect.arrayContaining([6, 3]),
  );
  expect(named(folder, "blocks-")).toHaveLength(2);
  using copies = new ContentStore(folder, { ...options, root: "/copies" });
  expect(["x.png", "y.png", "z.png"].map((path) => lettersOf(copies, path))).toEqual(["bbb", "yyy", "yyy"]);
});

test("blocks of another kind are not lent", async () => {
  const folder = await made();
  using other = new ContentStore(folder, { ...options, kind: { of: "letters", size: 4 }, root: "/others" });
  expect(other.find(contentOf(Buffer.from("aaa")))).toBeUndefined();
});

test("a last line that a kill cut off is skipped, and later lines are read", async () => {
  const folder = await made();
  appendFileSync(indexOf(folder), '{"path":"d.png","bytes":1');
  expect(open(folder).entries.has("d.png")).toBe(false);
  await added(folder, { "e.png": "eee" });
  using store = open(folder);
  expect([...store.entries.keys()]).toEqual(["a.png", "b.png", "c.png", "e.png"]);
  expect(lettersOf(store, "e.png")).toBe("eee");
});

test("a truncated file of blocks loses only the missing blocks", async () => {
  const folder = await made();
  truncateSync(join(folder, named(folder, "blocks-")[0]), 5);
  using store = open(folder);
  expect(["a.png", "b.png", "c.png"].map((path) => store.isFresh(path, stamp))).toEqual([true, false, true]);
  rmSync(join(folder, named(folder, "blocks-")[0]));
  using none = open(folder);
  expect(none.isFresh("a.png", stamp)).toBe(false);
});

test("a block with changed bytes is detected, and not returned", async () => {
  const folder = await made();
  const fd = openSync(join(folder, named(folder, "blocks-")[0]), "r+");
  writeSync(fd, "X", 1);
  using store = open(folder);
  expect([lettersOf(store, "a.png"), lettersOf(store, "b.png")]).toEqual([undefined, "bbb"]);
  expect(store.isFresh("a.png", stamp)).toBe(false);
  expect(store.find(contentOf(Buffer.from("aaa")))).toBeUndefined();
});

test("a killed writer's blocks that no line names are removed, and others' blocks are not", async () => {
  const folder = await made();
  const [, of] = /^index-(\w+)\.jsonl$/.exec(indexOf(folder).split("/").at(-1)!)!;
  const left = `blocks-${of}-0123456789abcdef.bin`;
  writeFileSync(join(folder, left), "left behind");
  await added(folder, { "x.png": "xxx" }, { root: "/others" });
  using store = new ContentStore(folder, options);
  using _ = await store.take();
  store.removeLeftovers();
  expect(existsSync(join(folder, left))).toBe(false);
  expect(named(folder, "blocks-")).toHaveLength(2);
});

test("cleared, it keeps the blocks that another folder's files use", async () => {
  const folder = await made();
  await added(folder, { "copy.png": "aaa" }, { root: "/copies" });
  {
    using store = open(folder);
    using _ = await store.take();
    store.clear();
    expect(store.entries.size).toBe(0);
    expect(isStored(store.find(contentOf(Buffer.from("aaa"))))).toBe(true);
  }
  using copies = new ContentStore(folder, { ...options, root: "/copies" });
  expect(lettersOf(copies, "copy.png")).toBe("aaa");
});

test("an index that names files elsewhere, or blocks of another length, is not believed", async () => {
  const folder = await made();
  const line = { path: "x.png", ...stamp, content: "0", offset: 0, length: 3, crc: 1, colour: "red" };
  const file = named(folder, "blocks-")[0];
  for (const bad of [
    { ...line, file: "../../etc/passwd" },
    { ...line, file, offset: -1 },
    { ...line, file, length: 4 },
    { ...line, file, colour: 1 },
  ])
    appendFileSync(indexOf(folder), `${JSON.stringify(bad)}\n`);
  using store = open(folder);
  expect(store.entries.has("x.png")).toBe(false);
});

test("an index of another version is refused with a clear error, and files that are not an index do not change", async () => {
  const folder = await made();
  writeFileSync(join(folder, "index.jsonl"), '{"format":"nudge pictures","version":1}\n');
  expect(open(folder).entries.size).toBe(3);
  writeFileSync(indexOf(folder), '{"format":"nudge blocks","version":99}\n');
  expect(() => open(folder)).toThrow(/test cache .*it is damaged, or of another version/);
});

test("a full disk is reported clearly, existing entries stay, and the next writer continues", async () => {
  const folder = join(temporaryFolder(), "store");
  let room = 3;
  const write = (fd: number, bytes: Uint8Array): void => {
    if (bytes.length === 3) room -= 3;
    if (room < 0) throw Object.assign(new Error("write"), { code: "ENOSPC" });
    writeSync(fd, bytes);
  };
  {
    using store = new ContentStore(folder, { ...options, write });
    using _ = await store.take();
    store.add("a.png", stamp, block("aaa"));
    store.flush();
    store.add("b.png", stamp, block("bbb"));
    expect(() => store.flush()).toThrow(DataError);
    store.add("b.png", stamp, block("bbb"));
    expect(() => store.flush()).toThrow(/could not be written: the disk is full\. Name another folder/);
  }
  await added(folder, { "b.png": "bbb" });
  using store = open(folder);
  expect(["a.png", "b.png"].map((path) => lettersOf(store, path))).toEqual(["aaa", "bbb"]);
});

test("a writer that has lost its lock stops", async () => {
  const folder = await made();
  using store = open(folder);
  using _ = await store.take();
  for (const name of named(folder, "lock-")) rmSync(join(folder, name), { recursive: true });
  store.add("d.png", stamp, { problem: "bad" });
  expect(() => store.flush()).toThrow("another process took it over");
});
