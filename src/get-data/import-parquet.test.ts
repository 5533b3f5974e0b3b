import { copyFileSync, readdirSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { bytesInMemory } from "../data/picture-header/tiff-tags.js";
import { readPictureHeader } from "../data/picture-header.js";
import { importParquet } from "./import-parquet.js";

/** Written by DuckDB: tests/vectors/parquet/make.mjs says what is in them. */
const stored = (name: string): string => new URL(`../../tests/vectors/parquet/${name}`, import.meta.url).pathname;

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

test("a copy from Hugging Face becomes folders; broken pictures are skipped and reported", async () => {
  const folder = temporaryFolder();
  const file = stored("hugging-face.parquet");
  const { pictures, skipped, columns } = await importParquet([file], folder);
  expect(columns).toEqual({ image: "image", label: "label", domain: "domain" });
  expect(filesIn(folder)).toEqual([
    "art_painting/dog/pic_001.png",
    "art_painting/guitar/pic_002.png",
    "photo/dog/0-3-pic_001.png",
    "photo/dog/pic_001.png",
    "photo/guitar/escape.png",
  ]);
  expect(pictures).toBe(5);
  expect(skipped).toEqual([
    { file, row: 4, why: "a PNG that has been cut: its end is missing" },
    { file, row: 5, why: "not a picture: its content is an HTML page, as after a failed download" },
    { file, row: 6, why: 'column "image" has no picture, only its path' },
  ]);
  const { header } = readPictureHeader(bytesInMemory(readFileSync(join(folder, "photo/dog/pic_001.png")))) as {
    header: object;
  };
  expect(header).toMatchObject({ format: "PNG", width: 4, height: 3 });
});

test("several row groups in zstd are read, columns can be named, and two files follow one another", async () => {
  const folder = temporaryFolder();
  const many = stored("many.parquet");
  const progress: number[] = [];
  const seen: object[] = [];
  const { pictures, skipped } = await importParquet([many], folder, {
    columns: { label: "style", domain: "class" },
    onColumns: (columns) => seen.push(columns),
    onProgress: (done, total) => progress.push(done / total),
  });
  expect({ pictures, skipped: skipped.length }).toEqual({ pictures: 4100, skipped: 0 });
  expect(seen).toEqual([{ image: "picture", label: "style", domain: "class", valueNames: {} }]);
  expect(progress.at(-1)).toBe(1);
  expect(filesIn(folder)).toHaveLength(4100);
  expect(readdirSync(join(folder, "class 2", "style 1"))).toContain("0-4097.png");

  const [both, small] = [temporaryFolder(), stored("hugging-face.parquet")];
  expect(await importParquet([small, small], both)).toMatchObject({ pictures: 10 });
  expect(readdirSync(join(both, "photo", "guitar"))).toEqual(["1-7-escape.png", "escape.png"]);
});

test("a second import writes only what is missing", async () => {
  const folder = temporaryFolder();
  await importParquet([stored("hugging-face.parquet")], folder);
  const [kept, cut] = ["photo/dog/pic_001.png", "art_painting/dog/pic_001.png"].map((name) => join(folder, name));
  utimesSync(kept, 1000, 1000);
  truncateSync(cut, 5);
  await importParquet([stored("hugging-face.parquet")], folder);
  expect(statSync(kept).mtimeMs).toBe(1_000_000);
  expect(statSync(cut).size).toBe(statSync(kept).size);
});

test("columns that cannot be guessed or are not there are asked for by name", async () => {
  const file = stored("many.parquet");
  const guessed = importParquet([file], temporaryFolder(), {
    onColumns: ({ image, domain, label }) => {
      throw new Error(`${image}, ${domain}, ${label}`);
    },
  });
  await expect(guessed).rejects.toThrow("picture, style, class");
  await expect(importParquet([file], temporaryFolder(), { columns: { label: "klass" } })).rejects.toThrow(
    'unknown column "klass": did you mean "class"?',
  );
  await expect(importParquet([file], temporaryFolder(), { columns: { image: "style" } })).rejects.toThrow(
    "none of its 4100 rows has a picture",
  );
});

test("a file that was cut or damaged gets a clear error", async () => {
  const folder = temporaryFolder();
  const cut = join(folder, "cut.parquet");
  copyFileSync(stored("many.parquet"), cut);
  truncateSync(cut, 1000);
  await expect(importParquet([cut], folder)).rejects.toThrow(
    /cut\.parquet: could not be read .*is the download complete/,
  );
  const damaged = join(folder, "damaged.parquet");
  const bytes = readFileSync(stored("many.parquet"));
  bytes.fill(0xee, 4, 200);
  writeFileSync(damaged, bytes);
  await expect(importParquet([damaged], folder)).rejects.toThrow(/damaged\.parquet: rows 0 to 2047 could not be read/);
});
