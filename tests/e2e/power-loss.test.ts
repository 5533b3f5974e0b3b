/**
 * The power goes at any moment, and of what was not synced anything may be lost (tests/support/recorded-disk.ts): afterwards the same
 * commands end in the same bytes as ones left alone. NUDGE_LONG=1 cuts the power at every operation; NUDGE_FUZZ_SEED=n begins with
 * another seed.
 */

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

const folder = mkdtempSync(join(tmpdir(), "nudge-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Moments of a power cut, and a seed for each: `count` of them evenly over the log, or with NUDGE_LONG=1 all, each with two seeds. */
function cuts(log: DiskLog, count: number): { after: number; seed: number }[] {
  const every = long ? 1 : Math.max(1, log.length / count);
  const moments: number[] = [];
  for (let at = 0; at <= log.length; at += every) moments.push(Math.floor(at));
  return moments.flatMap((after, i) =>
    long
      ? [
          { after, seed: firstSeed + 2 * i },
          { after, seed: firstSeed + 2 * i + 1 },
        ]
      : [{ after, seed: firstSeed + i }],
  );
}

/** Calls a check for each power cut, on what it leaves; one that fails names the cut. */
async function afterEachCut(log: DiskLog, count: number, check: (left: string) => void | Promise<void>): Promise<void> {
  for (const cut of cuts(log, count)) {
    const left = join(folder, "left");
    log.leave(left, cut);
    endOwners(left);
    try {
      await check(left);
    } catch (cause) {
      const before = log.describe(cut.after - 1);
      throw new Error(
        `after ${cut.after} of ${log.length} operations (${before}), seed ${cut.seed}: ${(cause as Error).message}`,
        { cause },
      );
    }
    rmSync(left, { recursive: true });
  }
  console.info(`${cuts(log, count).length} power cuts in ${log.length} operations on the disk`);
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

/** The files of runs that their settings determine, with their content; a note on a try of a run that is done is no matter. */
function determined(place: string): Map<string, string> {
  const ofItsTime = /(^|\/)((lock|events|attempts)\/|(environment\.json|log\.txt|timing\.jsonl)$)|(^|\/)\.|latest/;
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
  await afterEachCut(log, 6, async (left) => {
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
      ...TINY.replace(" --threads 1", "").split(" "),
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
  await afterEachCut(log, 6, async (left) => {
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
  await afterEachCut(log, 60, async (left) => {
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
  await afterEachCut(disk.stop(), 60, (left) => {
    const path = join(left, "study.nudge");
    if (existsSync(path)) expect(known.some((bytes) => bytes.equals(readFileSync(path)))).toBe(true);
  });

  const unpacked = join(folder, "unpacked");
  mkdirSync(unpacked);
  disk = recordDisk(unpacked);
  unpackStudy(both, join(unpacked, "out"));
  const whole = determined(join(unpacked, "out"));
  const log = disk.stop();
  await afterEachCut(log, 60, (left) => {
    if (existsSync(join(left, "out"))) expectSame(join(left, "out"), whole);
  });
});
