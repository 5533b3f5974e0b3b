import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import * as files from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { DataError } from "../errors.js";
import { countPictures, picturesUnder, readFolderTree } from "./folder-tree.js";

vi.mock("node:fs/promises", { spy: true });
afterEach(() => void vi.restoreAllMocks());

test("pictures are found by extension in any case, in the order of the reference's walk", async () => {
  const root = temporaryFolder();
  const names = ["b/2.JPG", "b/10.jpeg", "b/1.Png", "b/sub/0.webp", "b-c/1.tiff", "B/1.gif", "a/1.bmp", "a/é.pgm"];
  for (const name of names) writeFile(root, name);
  const { top, notes } = await readFolderTree(root);
  // What sorted(os.walk(…)) with sorted files gives in Python: "b-c" before "b/sub", capitals before small letters.
  expect(picturesUnder(top)).toEqual([
    ...["B/1.gif", "a/1.bmp", "a/é.pgm", "b/1.Png", "b/10.jpeg", "b/2.JPG"],
    ...["b-c/1.tiff", "b/sub/0.webp"],
  ]);
  expect(countPictures(top)).toBe(8);
  expect(notes).toEqual([]);
});

test("hidden files, other files and broken links are skipped and reported", async () => {
  const root = temporaryFolder();
  for (const name of ["d/1.png", "d/.2.png", "d/Thumbs.db", ".git/3.png", "d/notes.txt", "d/README"])
    writeFile(root, name);
  writeFile(root, "d/IMG_5.HEIC");
  symlinkSync("nowhere.png", join(root, "d/4.png"));
  const { top, notes } = await readFolderTree(root);
  expect(picturesUnder(top)).toEqual(["d/1.png"]);
  expect(notes).toEqual([
    "skipped: 3 hidden or system files and folders",
    'skipped: 2 files that are not pictures by their extensions ("d/README", "d/notes.txt")',
    'skipped: 1 picture in an unsupported format: convert it to JPEG or PNG ("d/IMG_5.HEIC")',
    'skipped: 1 broken link ("d/4.png")',
  ]);
});

test("links are followed, but not in a loop", async () => {
  const root = temporaryFolder();
  const elsewhere = temporaryFolder();
  writeFile(elsewhere, "x/1.png");
  writeFile(root, "a/b/1.png");
  symlinkSync(root, join(root, "a/up"));
  symlinkSync(join(root, "a"), join(root, "a/b/again"));
  symlinkSync("self", join(root, "a/self"));
  symlinkSync(join(elsewhere, "x"), join(root, "linked"));
  const { top, notes } = await readFolderTree(root);
  expect(picturesUnder(top)).toEqual(["a/b/1.png", "linked/1.png"]);
  expect(notes).toEqual(['skipped: 3 links that loop back to a folder above ("a/b/again", "a/self", "a/up")']);
});

test("unusual names are kept, and those that are not valid text are skipped and reported as bytes", async () => {
  const root = temporaryFolder();
  const odd = ["new\nline.png", 'quote".png', "smile 😀.png", "real \ufffd.png", " .png", "a'b\\c.png", "‮gnp.png"];
  for (const name of odd) writeFile(root, `d/${name}`);
  writeFileSync(Buffer.concat([Buffer.from(`${root}/d/caf`), Buffer.from([0xe9]), Buffer.from(".png")]), "");
  mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]));
  const { top, notes } = await readFolderTree(root);
  expect(new Set(top.folders[0].pictures)).toEqual(new Set(odd));
  expect(notes).toEqual(['skipped: 2 names that are not UTF-8 text: rename them ("\\xff\\xfe", "d/caf\\xe9.png")']);
});

test("a folder that cannot be read is an error that names it", async () => {
  const root = temporaryFolder();
  writeFile(root, "secret/1.png");
  const { readdir } = await vi.importActual<typeof files>("node:fs/promises");
  vi.mocked(files.readdir).mockImplementation(((path: string, options: object) =>
    path.endsWith("secret")
      ? Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES" }))
      : readdir(path, options)) as typeof files.readdir);
  const reading = readFolderTree(root);
  await expect(reading).rejects.toThrow(DataError);
  await expect(reading).rejects.toThrow(/secret: no permission: allow reading it, or move it away$/);
});

test("no such folder and a file instead of one are errors", async () => {
  const root = temporaryFolder();
  await expect(readFolderTree(join(root, "none"))).rejects.toThrow(/none: there is no such folder$/);
  await expect(readFolderTree(writeFile(root, "file"))).rejects.toThrow(/file: it is a file, not a folder$/);
});
