import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { InsideFiles } from "./inside-files.js";
import { Tail } from "./tail.js";

const realFolder = (): string => realpathSync(temporaryFolder());
const tailOf = (root: string, name = "records.jsonl"): Tail => new Tail(new InsideFiles(root, root), name);

test("only new lines are read, and an incomplete line is read when it is complete", () => {
  const root = realFolder();
  const path = join(root, "records.jsonl");
  const tail = tailOf(root);
  expect(tail.read()).toEqual({ text: "", replaced: false });
  writeFileSync(path, "one\ntwo\nthr");
  expect(tail.read()).toEqual({ text: "one\ntwo\n", replaced: false });
  expect(tail.read()).toEqual({ text: "", replaced: false });
  appendFileSync(path, "ee\nfour\n");
  expect(tail.read()).toEqual({ text: "three\nfour\n", replaced: false });
});

test("a file that was cut, replaced or removed is read replaced", () => {
  const root = realFolder();
  const path = join(root, "records.jsonl");
  writeFileSync(path, "one\ntwo\nthree\n");
  const tail = tailOf(root);
  tail.read();
  truncateSync(path, 4);
  appendFileSync(path, "2\n");
  expect(tail.read()).toEqual({ text: "one\n2\n", replaced: true });
  // Longer than before and in the same inode: only the bytes before the place of reading tell.
  writeFileSync(path, "ONE\n2\nthree\n");
  expect(tail.read()).toEqual({ text: "ONE\n2\nthree\n", replaced: true });
  rmSync(path);
  expect(tail.read()).toEqual({ text: "", replaced: true });
  writeFileSync(path, "again\n");
  expect(tail.read().text).toBe("again\n");
});

test("a large file is read over several looks, and none of it twice", () => {
  const root = realFolder();
  const path = join(root, "records.jsonl");
  const written = Array.from({ length: 40 }, (_, i) => `${i} ${"x".repeat(1 << 20)}`);
  writeFileSync(path, `${written.join("\n")}\n`);
  const tail = tailOf(root);
  const looks: number[] = [];
  const read: string[] = [];
  do {
    const lines = tail.read().text.split("\n").slice(0, -1);
    looks.push(lines.length);
    read.push(...lines);
  } while (tail.hasMore);
  expect(looks.length).toBeGreaterThan(2);
  expect(read.map((line) => line.slice(0, 3))).toEqual(written.map((line) => line.slice(0, 3)));
});

test("a line longer than any of ours is passed over, and those after it are read", () => {
  const root = realFolder();
  const path = join(root, "records.jsonl");
  writeFileSync(path, `${"x".repeat(9 << 20)}\nlast\n`);
  expect(tailOf(root).read().text).toMatch(/\nlast\n$/);
});

test("links, pipes and folders are not read as files", () => {
  const root = realFolder();
  const outside = realFolder();
  writeFileSync(join(outside, "secret"), "secret\n");
  symlinkSync(join(outside, "secret"), join(root, "link"));
  symlinkSync(outside, join(root, "folder"));
  mkdirSync(join(root, "inner"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  for (const name of ["link", "folder/secret", "inner", "pipe", "none"])
    expect(tailOf(root, name).read(), name).toEqual({ text: "", replaced: false });
});
