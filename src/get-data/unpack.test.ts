import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ArchiveEntry, tarGzOf, tarOf, zipOf } from "../../tests/support/archives.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { unpack } from "./unpack.js";

const kinds = { zip: zipOf, tar: tarOf, "tar.gz": tarGzOf } as const;
const each = Object.entries(kinds);

/** Unpacks an archive of these bytes; the folder, and what was said of it. */
async function unpacked(bytes: Uint8Array, options = {}) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "archive"), bytes);
  const outcome = await unpack(join(folder, "archive"), join(folder, "out"), options);
  return { folder: join(folder, "out"), outcome };
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

test.each(each)("a %s archive is unpacked, without what systems leave in it", async (_, make) => {
  const large = Buffer.alloc(200_000, "picture");
  const { folder, outcome } = await unpacked(
    make([
      { name: "PACS/photo/dog/one.jpg", content: "first" },
      { name: "./PACS/photo/dog/zwei ü.jpg", content: large },
      { name: "PACS/photo/empty.txt" },
      { name: "__MACOSX/PACS/._one.jpg", content: "litter" },
      { name: "PACS/.DS_Store", content: "litter" },
    ]),
  );
  expect(filesIn(folder)).toEqual(["PACS/photo/dog/one.jpg", "PACS/photo/dog/zwei ü.jpg", "PACS/photo/empty.txt"]);
  expect(readFileSync(join(folder, "PACS/photo/dog/zwei ü.jpg")).equals(large)).toBe(true);
  expect(outcome).toEqual({ files: 3, bytes: 200_005, skipped: 0 });
});

test.each(["zip", "tar"])("what the system's own %s packs is unpacked", async (program) => {
  const folder = temporaryFolder();
  const long = join("in", "a".repeat(120), "b".repeat(120));
  mkdirSync(join(folder, long), { recursive: true });
  writeFileSync(join(folder, long, "picture.jpg"), "bytes");
  const words = program === "zip" ? ["-qr", "archive.zip", "in"] : ["czf", "archive.tgz", "in"];
  const { error } = spawnSync(program, words, { cwd: folder });
  if (error) return console.warn(`skipping: there is no ${program}`);
  await unpack(join(folder, program === "zip" ? "archive.zip" : "archive.tgz"), join(folder, "out"));
  expect(readFileSync(join(folder, "out", long, "picture.jpg"), "utf8")).toBe("bytes");
});

const escapes: readonly [string, ArchiveEntry][] = [
  ["a path upwards", { name: "../outside.txt", content: "x" }],
  ["a path upwards further down", { name: "in/../../outside.txt", content: "x" }],
  ["a path upwards of Windows", { name: "..\\outside.txt", content: "x" }],
  ["an absolute path", { name: "/tmp/nudge-outside.txt", content: "x" }],
  ["an absolute path of Windows", { name: "C:\\outside.txt", content: "x" }],
];

test.each(each.flatMap(([kind, make]) => escapes.map(([what, entry]) => ({ kind, make, what, entry }))))(
  "a $kind archive with $what is refused",
  async ({ make, entry }) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "archive"), make([{ name: "good.txt", content: "y" }, entry]));
    await expect(unpack(join(folder, "archive"), join(folder, "out"))).rejects.toThrow(
      "would be written outside the folder",
    );
    expect(existsSync(join(folder, "outside.txt"))).toBe(false);
    expect(existsSync("/tmp/nudge-outside.txt")).toBe(false);
  },
);

test.each(each)("links in a %s archive are skipped, and nothing is written through them", async (_, make) => {
  const { folder, outcome } = await unpacked(
    make([
      { name: "way", link: "/tmp" },
      { name: "way/nudge-through-link.txt", content: "x" },
      { name: "passwords", link: "/etc/passwd" },
    ]),
  );
  expect(outcome).toMatchObject({ files: 1, skipped: 2 });
  expect(filesIn(folder)).toEqual(["way/nudge-through-link.txt"]);
  expect(existsSync("/tmp/nudge-through-link.txt")).toBe(false);
});

test.each(each)("a %s archive that unpacks to too much is stopped", async (kind, make) => {
  const bomb = make([{ name: "zeros", content: Buffer.alloc(3_000_000) }]);
  await expect(unpacked(bomb, { mostBytes: 1_000_000 })).rejects.toThrow("it unpacks to more than 1.0 MB");
  const many = make(Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, content: "x" })));
  await expect(unpacked(many, { mostFiles: 10 })).rejects.toThrow("it has more than 10 files");
  if (kind !== "zip") return;
  const liar = zipOf([{ name: "short", content: Buffer.alloc(1000), length: 10 }]);
  await expect(unpacked(liar)).rejects.toThrow('its entry "short" is longer than it says');
});

test("damaged and cut archives get a clear error", async () => {
  const content = Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * i) % 251));
  await expect(unpacked(zipOf([{ name: "a", content, checksum: 1 }]))).rejects.toThrow('its entry "a" is damaged');
  const whole = tarGzOf([{ name: "a", content }]);
  await expect(unpacked(whole.subarray(0, whole.length / 2))).rejects.toThrow(
    /it is damaged .*is the download complete/,
  );
  await expect(unpacked(zipOf([{ name: "a", content }]).subarray(0, 300))).rejects.toThrow("is the download complete");
  const plain = tarOf([{ name: "a", content }]);
  await expect(unpacked(plain.subarray(0, 20_000))).rejects.toThrow("is the download complete");
});

test("a file that is not an archive is an error that says what it is", async () => {
  await expect(unpacked(Buffer.from("<!DOCTYPE html><p>virus scan"))).rejects.toThrow(
    "found a web page, as a download",
  );
  await expect(unpacked(Buffer.from("Rar!\x1a\x07"))).rejects.toThrow("found a RAR archive");
  await expect(unpacked(Buffer.from(""))).rejects.toThrow("found an empty file");
});

test.each(each)("unpacking a %s archive again writes only what is missing", async (_, make) => {
  const folder = temporaryFolder();
  const [archive, out] = [join(folder, "archive"), join(folder, "out")];
  writeFileSync(archive, make([{ name: "one", content: "first" }, { name: "two", content: "second" }])); // biome-ignore format: short
  await unpack(archive, out);
  writeFileSync(join(out, "one"), "FIRST"); // as long as the archive's: taken for it
  writeFileSync(join(out, "two"), "cut");
  expect(await unpack(archive, out)).toMatchObject({ files: 2, bytes: 11 });
  expect([readFileSync(join(out, "one"), "utf8"), readFileSync(join(out, "two"), "utf8")]).toEqual(["FIRST", "second"]);
});
