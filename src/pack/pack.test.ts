/** Tests packed studies: unpacking restores what was packed, and damaged, truncated or malicious parts are reported and skipped. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { accuraciesAt, inFolder, writeRun } from "../../tests/support/run-folders.js";
import { finishRun, writeSweep } from "../../tests/support/sweeps.js";
import { DataError, UsageError } from "../errors.js";
import { planLines } from "../sweep/sweep-folder.js";
import { blockBytes, MOST_RAW, readBlocks } from "./block.js";
import { PackFile } from "./pack-file.js";
import { packStudy } from "./pack-study.js";
import { padded, TAR_END, tarHeader } from "./tar.js";
import { unpackStudy } from "./unpack-study.js";
import { writePack } from "./write-pack.js";

/** A sweep of some runs with the given number of evaluations. All runs except the last one are done. */
function makeSweep(folder: string, { count = 6, evaluations = 3 } = {}): string {
  for (const [i, run] of writeSweep(folder, count).entries()) {
    const records = Array.from({ length: evaluations }, (_, step) => accuraciesAt(step, 0.3 + i / 7 + step / 9)).flat();
    const own = writeRun(join(folder, "runs", run.name), { records, done: i < count - 1 });
    writeFileSync(join(own, "environment.json"), '{ "host": "lab7", "started": "2026-11-15T08:18:13.097Z" }');
    if (i < count - 1) finishRun(folder, run);
  }
  return folder;
}

/** All files below a folder, with their contents. */
const tree = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]),
  );

/** The records of the runs that can be read, and the messages about the others. */
function contentOf(path: string): { runs: Record<string, string>; notes: readonly string[] } {
  const pack = new PackFile(path);
  const runs = Array.from(pack.runs(), (run) => [run.folder, run.text("records.jsonl")]);
  return { runs: Object.fromEntries(runs), notes: pack.notes };
}

const blocksOf = (path: string) => [...readBlocks(path)].flatMap((block) => ("place" in block ? [block.place] : []));

/** An archive with arbitrary entries in the given blocks. */
const archive = (...entries: [name: string, text: string, type?: string][]): Buffer =>
  Buffer.concat(
    entries.flatMap(([name, text, type]) => {
      const header = tarHeader({ name, size: Buffer.byteLength(text), time: 0 });
      if (type) retype(header, type);
      return [header, Buffer.concat([Buffer.from(text)], padded(Buffer.byteLength(text)))];
    }),
  );

/** Changes the type of an entry from a regular file to another one. */
function retype(header: Buffer, type: string): void {
  header.write(type, 156);
  header.write("        ", 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
}

const writeBlocks = (path: string, ...raws: Buffer[]): string => {
  writeFileSync(path, Buffer.concat(raws.map((raw) => blockBytes({ raw, carried: 0, goesOn: false }))));
  return path;
};

describe("a pack", () => {
  test("unpacks to the same files, by nudge and by tar", () =>
    inFolder((folder) => {
      const sweep = makeSweep(join(folder, "sweep"));
      mkdirSync(join(sweep, "attempts"));
      writeFileSync(join(sweep, "attempts", "0123456789abcdef.json"), '{ "format": 1 }');
      const path = join(folder, "study.nudge");
      expect(packStudy([sweep], path)).toMatchObject({ runs: 6, unfinished: 1, notes: [] });
      unpackStudy(path, join(folder, "a"));
      mkdirSync(join(folder, "b"));
      execFileSync("tar", ["xzf", path, "-C", join(folder, "b")], { stdio: "pipe" });
      const before = tree(sweep);
      expect(Object.keys(before)).toHaveLength(2 + 1 + 6 * 3 + 5 * 2);
      expect(tree(join(folder, "a"))).toEqual(before);
      expect(tree(join(folder, "b"))).toEqual(before);
      expect(() => unpackStudy(path, sweep)).toThrow(UsageError);
    }));

  test("has the same bytes for the same runs, whatever the times of their files, and packed again", () =>
    inFolder((folder) => {
      const sweep = makeSweep(join(folder, "sweep"));
      const [a, b, c] = ["a", "b", "c"].map((name) => join(folder, `${name}.nudge`));
      packStudy([sweep], a);
      cpSync(sweep, join(folder, "copy"), { recursive: true });
      for (const file of Object.keys(tree(join(folder, "copy")))) utimesSync(join(folder, "copy", file), 1e9, 1e9);
      packStudy([join(folder, "copy")], b);
      packStudy([a], c);
      expect(readFileSync(b)).toEqual(readFileSync(a));
      expect(readFileSync(c)).toEqual(readFileSync(a));
      const [run] = new PackFile(a).runs();
      expect(new Date(run.time("settings.json")).toISOString()).toBe("2026-11-15T08:18:13.000Z");
    }));

  test("holds runs and plans that are larger than a block, and names of any length", () =>
    inFolder((folder) => {
      const sweep = makeSweep(join(folder, "sweep"));
      writeSweep(sweep, 4000);
      const name = `${"ä".repeat(90)}-${"x".repeat(60)}`;
      const large = "a line of records\n".repeat(200_000);
      const own = writeRun(join(sweep, "runs", name));
      writeFileSync(join(own, "records.jsonl"), large);
      const path = join(folder, "study.nudge");
      packStudy([sweep], path);
      const pack = new PackFile(path);
      const runs = [...pack.runs()];
      expect(blocksOf(path).filter(({ goesOn }) => goesOn).length).toBeGreaterThan(6);
      expect(Array.from(planLines(pack.study))).toEqual(Array.from(planLines(sweep)));
      expect(runs.at(-1)?.folder).toBe(`runs/${name}`);
      expect(runs.at(-1)?.text("records.jsonl")).toBe(large);
      expect([runs.length, pack.notes]).toEqual([7, []]);
    }));

  test("takes runs of several pieces once each, done where they are, and of one plan alone", () =>
    inFolder((folder) => {
      const [a, b] = ["a", "b"].map((name) => makeSweep(join(folder, name)));
      const runs = readdirSync(join(a, "runs"));
      writeFileSync(join(b, "runs", runs[5], "done"), "later");
      writeFileSync(join(b, "runs", runs[0], "done"), "other");
      const [first, both] = ["first", "both"].map((name) => join(folder, `${name}.nudge`));
      packStudy([a], first);
      expect(packStudy([first, b], both)).toMatchObject({ runs: 6, unfinished: 0 });
      const dones = Array.from(new PackFile(both).runs(), (run) => run.text("done"));
      expect([dones[0], dones[5]]).toEqual(["{}", "later"]);
      expect(() => packStudy([a, makeSweep(join(folder, "c"), { count: 8 })], both)).toThrow(
        "Give the larger plan first",
      );
      expect(() => packStudy([folder], both)).toThrow("is a sweep of its own");
    }));

  test("holds as little as is asked for: finished runs, some metrics, nothing that names the machine", () =>
    inFolder((folder) => {
      const sweep = makeSweep(join(folder, "sweep"));
      const [run] = readdirSync(join(sweep, "runs"));
      const settings = {
        root: "/home/me/data",
        weights: "/home/me/w.safetensors",
        request: { root: "/home/me/data", lr: 1 },
      };
      writeFileSync(join(sweep, "runs", run, "settings.json"), JSON.stringify(settings));
      writeFileSync(
        join(sweep, "runs", run, "records.jsonl"),
        '{"step":0,"metric":"loss","value":1}\n{"step":0,"metric":"accuracy","value":1}\n{"step":1,"met',
      );
      const path = join(folder, "study.nudge");
      const wishes = { finished: true, anonymous: true, metrics: ["accuracy"] };
      expect(packStudy([sweep], path, wishes)).toMatchObject({ runs: 5, unfinished: 0 });
      const pack = new PackFile(path);
      const [found] = pack.runs();
      expect(found.text("records.jsonl")).toBe('{"step":0,"metric":"accuracy","value":1}\n');
      expect(JSON.parse(found.text("settings.json")!)).toEqual({
        root: null,
        weights: "w.safetensors",
        request: { lr: 1 },
      });
      expect(JSON.parse(found.text("environment.json")!)).toEqual({ started: "2026-11-15T08:18:13.097Z" });
      expect(JSON.parse(pack.study.text("sweep.json")!).metricsKept).toEqual(["accuracy"]);
      expect(() => packStudy([sweep], path, { metrics: ["acuracy"] })).toThrow("no record of acuracy");
    }));
});

describe("a damaged pack", () => {
  /** A pack with many blocks, and its content. */
  function makePack(folder: string) {
    const path = join(folder, "study.nudge");
    packStudy([makeSweep(join(folder, "sweep"), { count: 60, evaluations: 60 })], path);
    return { path, bytes: readFileSync(path), whole: contentOf(path).runs };
  }

  test("loses the runs of a block in which any bit is another, and says which block", () =>
    inFolder((folder) => {
      const { path, bytes, whole } = makePack(folder);
      const blocks = blocksOf(path);
      expect(blocks.length).toBeGreaterThan(3);
      for (let i = 0; i < 96; i++) {
        // Damage hits headers as often as all other bytes together.
        const { offset, stored, number } = blocks[i % blocks.length];
        const at = offset + (i % 2 === 0 ? (i >> 1) % 36 : (i * 7919) % stored);
        const damaged = Buffer.from(bytes);
        damaged[at] ^= 1 << (i % 8);
        writeFileSync(path, damaged);
        const { runs, notes } = contentOf(path);
        expect(notes[0]).toContain(`study.nudge: block ${number}, at byte ${offset}, is damaged`);
        expect(whole).toMatchObject(runs); // everything that is read is correct
        expect(Object.keys(runs).length).toBeGreaterThanOrEqual(60 - 16);
      }
    }));

  test("that is cut short has the runs before the cut, and says so", () =>
    inFolder((folder) => {
      const { path, bytes, whole } = makePack(folder);
      const blocks = blocksOf(path);
      for (const { offset, number } of blocks.slice(1))
        for (const length of [offset, offset + 1, offset + 36, offset + 100]) {
          writeFileSync(path, bytes.subarray(0, length));
          const { runs, notes } = contentOf(path);
          expect(notes.at(-1)).toContain("the file is cut short");
          if (length > offset) expect(notes[0]).toContain(`block ${number}, at byte ${offset}`);
          expect(whole).toMatchObject(runs);
        }
      writeFileSync(path, bytes.subarray(0, 5));
      expect(() => contentOf(path)).toThrow("not a packed study");
    }));

  test("with a whole block taken out loses no other run, also where a run goes on in it", () =>
    inFolder((folder) => {
      const names = ["a", "b", "c"];
      for (const name of names)
        writeFileSync(
          join(writeRun(join(folder, "runs", name)), "records.jsonl"),
          (name === "b" ? "a line of b\n" : `${name}\n`).repeat(100_000),
        );
      const path = join(folder, "study.nudge");
      packStudy([join(folder, "runs")], path);
      const bytes = readFileSync(path);
      const blocks = blocksOf(path);
      const middle = blocks.findIndex(({ carried, goesOn }) => carried > 0 && goesOn);
      const { offset, stored } = blocks[middle];
      writeFileSync(
        path,
        Buffer.concat([bytes.subarray(0, offset), Buffer.alloc(50), bytes.subarray(offset + stored)]),
      );
      const { runs, notes } = contentOf(path);
      expect(Object.keys(runs)).toEqual(["a", "c"]);
      expect(notes.join("\n")).toContain(`${join(path, "b")}: skipped: a part of it is missing`);
    }));
});

describe("a hostile pack", () => {
  /** A block with an arbitrary header and a valid checksum. */
  function claiming(raw: Buffer, { stored, rawLength }: { stored?: number; rawLength?: number }): Buffer {
    const bytes = blockBytes({ raw, carried: 0, goesOn: false });
    if (stored !== undefined) bytes.writeUInt32LE(stored, 20);
    if (rawLength !== undefined) bytes.writeUInt32LE(rawLength, 24);
    bytes.writeUInt32LE(0, 32);
    bytes.writeUInt32LE(crc32(bytes), 32);
    return bytes;
  }
  const run = archive(["b/settings.json", "{}"], ["b/records.jsonl", "ok"]);
  const good = Buffer.concat([run, TAR_END]);

  test.each([
    ["claims gigabytes", claiming(good, { rawLength: 0xffff_ffff }), "decompress to 4294967295"],
    ["claims to be larger than the file", claiming(good, { stored: 1 << 18 }), "bytes too early"],
    ["claims an impossible size", claiming(good, { stored: 3 }), "it claims 3 bytes"],
    ["decompresses to less than it claims", claiming(good, { rawLength: MOST_RAW }), "and claims 524288"],
    [
      "decompresses to more than it claims",
      claiming(Buffer.alloc(MOST_RAW), { rawLength: 10 }),
      "cannot be decompressed",
    ],
  ])("whose block %s is read without it, in little memory", (_, bad, message) =>
    inFolder((folder) => {
      const path = join(folder, "bad.nudge");
      writeFileSync(path, Buffer.concat([bad, blockBytes({ raw: good, carried: 0, goesOn: false })]));
      const { runs, notes } = contentOf(path);
      expect(runs).toEqual({ b: "ok" });
      expect(notes[0]).toContain(message);
    }),
  );

  test("that decompresses without end costs a block", () =>
    inFolder((folder) => {
      const bomb = deflateRawSync(Buffer.alloc(1 << 28)); // 256 MB in 260 kB
      const bytes = Buffer.alloc(36 + bomb.length + 8);
      blockBytes({ raw: good, carried: 0, goesOn: false }).copy(bytes, 0, 0, 36);
      bomb.copy(bytes, 36);
      bytes.writeUInt32LE(bytes.length, 20);
      bytes.writeUInt32LE(MOST_RAW, 24);
      bytes.writeUInt32LE(0, 32);
      bytes.writeUInt32LE(crc32(bytes), 32);
      const path = join(folder, "bomb.nudge");
      writeFileSync(path, Buffer.concat([bytes, blockBytes({ raw: good, carried: 0, goesOn: false })]));
      const before = process.memoryUsage.rss();
      const { runs, notes } = contentOf(path);
      expect(process.memoryUsage.rss() - before).toBeLessThan(64 << 20);
      expect([runs, notes[0]]).toEqual([{ b: "ok" }, expect.stringContaining("cannot be decompressed")]);
    }));

  test("of a newer format is refused with what to do", () =>
    inFolder((folder) => {
      const bytes = blockBytes({ raw: good, carried: 0, goesOn: false });
      bytes.writeUInt16LE(2, 16);
      bytes.writeUInt32LE(0, 32);
      bytes.writeUInt32LE(crc32(bytes), 32);
      writeFileSync(join(folder, "new.nudge"), bytes);
      expect(() => contentOf(join(folder, "new.nudge"))).toThrow(DataError);
      expect(() => contentOf(join(folder, "new.nudge"))).toThrow("format 2, and this version of NUDGE reads format 1");
    }));

  test.each([
    [["../x/settings.json", "{}"]],
    [["/etc/settings.json", "{}"]],
    [["a/../../settings.json", "{}"]],
    [["a\\..\\settings.json", "{}"]],
    [["link/settings.json", "/etc/passwd", "2"]],
    [["folder/settings.json", "", "5"]],
  ] as [name: string, text: string, type?: string][][])("does not lead out of its folder: %j", (entry) =>
    inFolder((folder) => {
      const path = writeBlocks(join(folder, "bad.nudge"), Buffer.concat([archive(entry), good]));
      const out = join(folder, "out", "here");
      const { runs, notes } = unpackStudy(path, out);
      expect([runs, notes.length]).toEqual([1, 1]);
      expect(notes[0]).toContain("which is no plain file inside it");
      expect(Object.keys(tree(join(folder, "out")))).toEqual(["here/b/records.jsonl", "here/b/settings.json"]);
    }),
  );

  test("with runs twice, out of order or too many problems is read as far as that goes", () =>
    inFolder((folder) => {
      const again = archive(["a/settings.json", "{}"], ["b/settings.json", "{}"], ["b/records.jsonl", "again"]);
      const path = writeBlocks(join(folder, "bad.nudge"), run, ...Array.from({ length: 80 }, () => again), TAR_END);
      const { runs, notes } = contentOf(path);
      expect(runs).toEqual({ b: "ok" });
      expect(notes).toHaveLength(51);
      expect(notes.at(-1)).toContain("and 110 more problems");
    }));

  test("of bytes that are no archive is told block by block", () =>
    inFolder((folder) => {
      const path = writeBlocks(join(folder, "bad.nudge"), Buffer.alloc(700, "x"), good);
      const { runs, notes } = contentOf(path);
      expect([runs, notes[0]]).toEqual([{ b: "ok" }, expect.stringContaining("block 1 has bytes that are no file")]);
    }));

  test("whose file claims to be longer than the pack is read without that file's run", () =>
    inFolder((folder) => {
      const header = tarHeader({ name: "a/settings.json", size: 1e9, time: 0 });
      const path = writeBlocks(join(folder, "bad.nudge"), header, good);
      const { runs, notes } = contentOf(path);
      expect(runs).toEqual({});
      expect(notes.join()).toContain("cut short");
    }));
});

test("input that cannot be packed is an error that says why", () =>
  inFolder((folder) => {
    const out = join(folder, "x.nudge");
    expect(() => packStudy([join(folder, "none")], out)).toThrow("no such folder");
    mkdirSync(join(folder, "empty"));
    expect(() => packStudy([join(folder, "empty")], out)).toThrow("no runs in it");
    writeRun(join(folder, "runs", "a"), { done: false });
    expect(() => packStudy([join(folder, "runs")], out, { finished: true })).toThrow("none of its runs is done");
    writeFileSync(join(folder, "text.nudge"), "not a pack");
    expect(() => packStudy([join(folder, "text.nudge")], out)).toThrow("not a packed study");
    expect(() => writePack(join(folder, "none", "x.nudge"), [])).toThrow("there is no folder");
  }));

test("a run with a link beside it is packed once, under its own name; a link to a run elsewhere is packed", () =>
  inFolder((folder) => {
    writeRun(join(folder, "runs", "z"));
    writeRun(join(folder, "elsewhere"));
    symlinkSync("z", join(folder, "runs", "latest"));
    symlinkSync("../elsewhere", join(folder, "runs", "other"));
    const out = join(folder, "study.nudge");
    expect(packStudy([join(folder, "runs")], out).runs).toBe(2);
    expect(Array.from(new PackFile(out).runs(), (run) => run.folder)).toEqual(["other", "z"]);
  }));
