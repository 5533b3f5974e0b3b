import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { SortedCopies } from "./sorted-copies.js";

test("pictures go into folders by class and into unknown, and nothing is replaced", async () => {
  const root = temporaryFolder();
  writeFile(root, "in/one.jpg", "1");
  writeFile(root, "more/one.jpg", "2");
  const out = join(root, "out");
  const copies = new SortedCopies(out, ["cat", "dog"]);
  await copies.add(join(root, "in/one.jpg"), "in/one.jpg", "cat");
  await copies.add(join(root, "more/one.jpg"), "more/one.jpg", "cat");
  await copies.add(Buffer.from("3"), "standard input", null);
  expect(readdirSync(out, { recursive: true }).map(String).sort()).toEqual(
    ["cat", "cat/one-2.jpg", "cat/one.jpg", "unknown", "unknown/standard input"], // biome-ignore format: short
  );
  expect(readFileSync(join(out, "cat/one-2.jpg"), "utf8")).toBe("2");
  expect(copies.count).toBe(3);
});

test("a class's name cannot lead out of the folder, and two classes never share one", async () => {
  const root = temporaryFolder();
  const copies = new SortedCopies(join(root, "out"), ["../../evil", "..", "a:b"]);
  for (const label of ["../../evil", "..", "a:b"]) await copies.add(Buffer.from("x"), "x.png", label);
  expect(readdirSync(root)).toEqual(["out"]);
  expect(readdirSync(join(root, "out")).sort()).toEqual(["_", "__.._evil", "a_b"]);
  expect(() => new SortedCopies(root, ["a/b", "a:b"])).toThrow(
    'would be copied to the folder "a_b", which is for class "a/b"',
  );
  expect(() => new SortedCopies(root, ["Unknown"])).toThrow("which is for unknown pictures");
});

test("a second command copies only what is not there yet", async () => {
  const root = temporaryFolder();
  writeFile(root, "in/one.jpg", "1");
  writeFile(root, "more/one.jpg", "1"); // the same bytes under the same name, but another picture
  writeFile(root, "in/two.jpg", "2");
  const all = async (...files: string[]): Promise<SortedCopies> => {
    const copies = new SortedCopies(join(root, "out"), ["cat"]);
    for (const file of files) await copies.add(join(root, file), file, "cat");
    return copies;
  };
  expect(await all("in/one.jpg", "more/one.jpg")).toMatchObject({ count: 2, present: 0 });
  expect(await all("in/one.jpg", "more/one.jpg", "in/two.jpg")).toMatchObject({ count: 1, present: 2 });
  expect(readdirSync(join(root, "out/cat")).sort()).toEqual(["one-2.jpg", "one.jpg", "two.jpg"]);
  writeFile(root, "in/one.jpg", "another");
  expect(await all("in/one.jpg")).toMatchObject({ count: 1, present: 0 });
  expect(readFileSync(join(root, "out/cat/one-3.jpg"), "utf8")).toBe("another");
});
