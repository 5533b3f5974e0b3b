/**
 * The power goes at any moment, and of what was not synced anything may be lost (tests/support/recorded-disk.ts): afterwards the same
 * commands end in the same bytes as ones left alone. The power is cut before syncs: what a disk may hold after any other operation, it
 * may also hold before the next sync, because until then everything since may be lost. NUDGE_LONG=1 cuts it before every sync, and at
 * the end, with several seeds each; NUDGE_FUZZ_SEED=n begins with another seed.
 */

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.js";
import { ContentStore, contentOf, isStored } from "../../src/files/content-store.js";
import { packStudy } from "../../src/pack/pack-study.js";
import { unpackStudy } from "../../src/pack/unpack-study.js";
import { work } from "../../src/sweep/work.js";
import { catchPrinted } from "../support/printed.js";
import { type DiskLog, recordDisk } from "../support/recorded-disk.js";

vi.mock("node:fs", async () => (await import("../support/recorded-disk.js")).recordedFs());

const long = process.env.NUDGE_LONG !== undefined;
const firstSeed = Number(process.env.NUDGE_FUZZ_SEED ?? 1);
const printed = catchPrinted();
process.env.PATH = ""; // a run notes the commit with git, whose start takes as long as the rest of a resume

const folder = mkdtempSync(join(tmpdir(), "nudge-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How often the power is cut: in all, evenly over the log, or with NUDGE_LONG=1 at each moment. */
type Often = readonly [short: number, longAtEach: number];

/** Moments of a power cut, and a seed for each; every other seed is a file system like ext4. */
function cuts(log: DiskLog, [short, longAtEach]: Often): { after: number; seed: number }[] {
  const { beforeSyncs } = log;
  const moments = long
    ? beforeSyncs.flatMap((after) => Array.from({ length: longAtEach }, () => after))
    : Array.from({ length: short }, (_, i) => beforeSyncs[Math.floor((i * beforeSyncs.length) / short)]);
  return moments.map((after, i) => ({ after, seed: firstSeed + i }));
}

/** Calls a check for each power cut, on what it leaves, if no cut before left the same; one that fails names the cut. */
async function afterEachCut(log: DiskLog, often: Often, check: (left: string) => void | Promise<void>): Promise<void> {
  const seen = new Set<string>();
  const all = cuts(log, often);
  for (const cut of all) {
    const left = join(folder, "left");
    rmSync(left, { recursive: true, force: true }); // also what a test before left that failed
    log.leave(left, cut);
    const before = seen.size;
    if (seen.add(contentHash(left)).size > before) {
      endOwners(left);
      try {
        await check(left);
      } catch (cause) {
        const last = log.describe(cut.after - 1);
        throw new Error(
          `after ${cut.after} of ${log.length} operations (${last}), seed ${cut.seed}: ${(cause as Error).message}`,
          { cause },
        );
      }
    }
  }
  console.info(
    `${all.length} power cuts before ${new Set(all.map(({ after }) => after)).size} of ${log.beforeSyncs.length} syncs ` +
      `in ${log.length} operations: ${seen.size} different states of the disk`,
  );
}

function contentHash(place: string): string {
  const hash = createHash("sha256");
  for (const name of (readdirSync(place, { recursive: true }) as string[]).sort()) {
    const path = join(place, name);
    hash.update(`${name}\0`).update(statSync(path).isFile() ? readFileSync(path) : "folder");
  }
  return hash.digest("hex");
}

/** Owners of locks are processes of before: here they would still be alive. */
function endOwners(place: string): void {
  for (const name of readdirSync(place, { recursive: true }) as string[]) {
    if (!name.endsWith("owner.json")) continue;
    const path = join(place, name);
    writeFileSync(path, readFileSync(path, "utf8").replace(/"started":"\d+"/, '"started":"1"'));
  }
}

const filesOf = (place: string): string[] =>
  (readdirSync(place, { recursive: true }) as string[]).filter((name) => statSync(join(place, name)).isFile()).sort();

/**
 * The files of runs that their settings determine, with their content. A note on a try of a run that is done is no matter, nor is
 * a checkpoint of it: it is deleted after the run is marked as done, and the power may fail in between.
 */
function determined(place: string): Map<string, string> {
  const ofItsTime =
    /(^|\/)((lock|events|attempts|checkpoint)\/|(environment\.json|log\.txt|timing\.jsonl)$)|(^|\/)\.|latest/;
  const names = filesOf(place).filter((name) => !ofItsTime.test(name));
  return new Map(names.map((name) => [name, readFileSync(join(place, name)).toString("latin1")]));
}

function expectSame(place: string, calm: ReadonlyMap<string, string>): void {
  const found = determined(place);
  expect([...found.keys()]).toEqual([...calm.keys()]);
  for (const [name, content] of calm) expect(found.get(name) === content, name).toBe(true);
}

const TINY = "data.perCell=3 data.size=16 checkpointEvery=2 --steps 7 --eval-every 3 --batch-size 4 --threads 1";

test("a run resumes after a power failure and ends in the same bytes as an uninterrupted one", {
  timeout: 3_600_000,
}, async () => {
  const train = (out: string): Promise<number> =>
    main([
      ..."train --data shapes --test-domain textured --algorithm SWAD-NU --quiet warmup=2 swad.converge=2".split(" "),
      ...TINY.split(" "),
      "--out",
      out,
    ]);
  const calm = join(folder, "train");
  mkdirSync(calm);
  const disk = recordDisk(calm);
  expect(await train(calm)).toBe(0);
  const log = disk.stop();
  const whole = determined(calm);
  expect(whole.size).toBeGreaterThan(8);
  await afterEachCut(log, [6, 8], async (left) => {
    const run = readdirSync(left).find((name) => existsSync(join(left, name, "settings.json")));
    expect(await (run ? main(["train", "--resume", join(left, run), "--quiet"]) : train(left)), printed.stderr).toBe(0);
    expectSame(left, whole);
  });
});

test("a sweep resumes after a power failure and ends in the same bytes as an uninterrupted one", {
  timeout: 3_600_000,
}, async () => {
  const plan = (out: string): Promise<number> =>
    main([
      ..."sweep plan --data shapes --test-domains textured --algorithms ERM --trials 2 --no-measure".split(" "),
      ...TINY.replace("--steps 7 --eval-every 3", "--steps 3 --eval-every 2").replace(" --threads 1", "").split(" "),
      "--out",
      out,
    ]);
  const run = (sweep: string): Promise<string> =>
    work({
      ...{ folder: sweep, device: "cpu", threads: 1, runs: null, first: 0, cancelToken: "", version: "test" },
      ...{ retries: 0, maxFailures: null, only: null, stopHopeless: false, shouldStop: () => false, onEvent: () => {} },
    });
  const calm = join(folder, "sweep");
  mkdirSync(calm);
  const disk = recordDisk(calm);
  expect(await plan(calm)).toBe(0);
  expect(await run(calm)).toBe("nothing left");
  const log = disk.stop();
  const whole = determined(calm);
  expect(whole.size).toBeGreaterThan(8);
  await afterEachCut(log, [6, 6], async (left) => {
    expect(await plan(left), printed.stderr).toBe(0);
    expect(await run(left)).toBe("nothing left");
    expectSame(left, whole);
  });
});

test("after a power failure, the blocks of a cache are complete or created again, and never mixed up", {
  timeout: 600_000,
}, async () => {
  const names = Array.from({ length: 12 }, (_, i) => `picture-${i}`);
  const blockOf = (name: string): Uint8Array => Buffer.from(name.repeat(100));
  const open = (place: string): ContentStore =>
    new ContentStore(place, { kind: { size: 1 }, isWhole: () => true, what: "cache", root: "/data", advice: "" });
  const stamp = { bytes: 1, mtime: 1 };
  const fill = async (place: string): Promise<void> => {
    using store = open(place);
    using _ = await store.take();
    names.forEach((name, i) => {
      const entry = store.entries.get(name);
      const found = isStored(entry) && store.isFresh(name, stamp) ? store.read(entry) : undefined;
      if (found) expect(Buffer.from(found).equals(blockOf(name))).toBe(true);
      else store.add(name, stamp, { content: contentOf(Buffer.from(name)), bytes: blockOf(name), facts: {} });
      if (i % 3 === 2) store.flush();
    });
    store.flush();
    store.removeLeftovers();
  };
  const calm = join(folder, "cache");
  mkdirSync(calm);
  const disk = recordDisk(calm);
  await fill(calm);
  const log = disk.stop();
  await afterEachCut(log, [60, 60], async (left) => {
    await fill(left);
    using store = open(left);
    for (const name of names)
      expect(Buffer.from(store.read(store.find(contentOf(Buffer.from(name)))!)!)).toEqual(blockOf(name));
  });
});

test("after a power failure, a pack is the old or the new one, and a study is unpacked completely or not at all", async () => {
  const study = join(folder, "sweep"); // of the test before
  const [old, both] = [join(folder, "old.nudge"), join(folder, "both.nudge")];
  const first = readdirSync(join(study, "runs"))[0];
  packStudy([join(study, "runs", first)], old);
  packStudy([study], both);
  const calm = join(folder, "pack");
  mkdirSync(calm);
  let disk = recordDisk(calm);
  packStudy([join(study, "runs", first)], join(calm, "study.nudge"));
  packStudy([study], join(calm, "study.nudge"));
  const known = [old, both].map((path) => readFileSync(path));
  await afterEachCut(disk.stop(), [60, 60], (left) => {
    const path = join(left, "study.nudge");
    if (existsSync(path)) expect(known.some((bytes) => bytes.equals(readFileSync(path)))).toBe(true);
  });

  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  disk = recordDisk(unpacked);
  unpackStudy(both, join(unpacked, "out"));
  const whole = determined(join(unpacked, "out"));
  const log = disk.stop();
  await afterEachCut(log, [60, 60], (left) => {
    if (existsSync(join(left, "out"))) expectSame(join(left, "out"), whole);
  });
});
