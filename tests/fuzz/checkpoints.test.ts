/**
 * Damaged checkpoints: bits, truncation, exchanged blocks, tensors and metadata of other checkpoints, counts without measure. One with
 * checksums is read as it was written or refused. One without, as version 0.1.0 wrote them, is refused or gives a run that can make
 * an update. After either, the checkpoint before it is read to the same bytes. An input follows from its seed, which a failure names:
 *
 *     NUDGE_FUZZ_SEED=1234 NUDGE_FUZZ_ROUNDS=1 npx vitest run tests/fuzz/checkpoints.test.ts -t "without checksums"
 *
 * NUDGE_LONG=1 makes thousands of inputs of each kind.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { erm } from "../../src/algorithms/erm.js";
import { type Follower, swad } from "../../src/averaging/index.js";
import { liveTensors } from "../../src/engine/device.js";
import { scope } from "../../src/engine/scope.js";
import { DataError, UsageError } from "../../src/errors.js";
import { METADATA_KEY } from "../../src/model/about.js";
import { type Checkpointed, type Progress, readCheckpoint, writeCheckpoint } from "../../src/training/checkpoint.js";
import { Learner } from "../../src/training/learner.js";
import { arrays, CLASSES, DOMAINS, tinyBackbone, tinyBatch } from "../support/tiny-data.js";
import { Dice, damage, damageJson } from "./damage.js";

const rounds = Number(process.env.NUDGE_FUZZ_ROUNDS ?? (process.env.NUDGE_LONG ? 3000 : 100));
const firstSeed = Number(process.env.NUDGE_FUZZ_SEED ?? 1);

const folder = mkdtempSync(join(tmpdir(), "nudge-checkpoints-"));
const [path, good, again] = ["damaged", "good", "again"].map((name) => join(folder, `${name}.safetensors`));

const learner = new Learner({
  ...{ algorithm: erm, makeBackbone: () => tinyBackbone(arrays, 0), classes: CLASSES, domains: DOMAINS },
  channelsLast: false,
});
const average: Follower = swad();
const run: Checkpointed = { learner, followers: [average] };
afterAll(() => {
  learner[Symbol.dispose]();
  average[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

const progressAt = (next: number): Progress => ({
  ...{ next, stopped: false, logs: { sums: { loss: next / 3 }, count: next }, records: 7 * next },
  best: { step: 0, accuracy: 0.25 },
});

/** The checkpoints of a run after each of its first updates, and one of another run. */
const written: Buffer[] = [];
for (let step = 0; step < 3; step++) {
  scope(() => learner.update(tinyBatch(arrays, step), step));
  average.afterUpdate(step, learner.parameters());
  writeCheckpoint(path, "this run", progressAt(step + 1), run);
  written.push(readFileSync(path));
}
writeCheckpoint(path, "another run", progressAt(3), run);
const anothers = readFileSync(path);
const [last, before] = [written[2], written[1]];
writeFileSync(good, before);

/** A checkpoint without checksums, in its parts. */
interface Parts {
  readonly tensors: Readonly<Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>>;
  readonly about: string;
  readonly data: Buffer;
}

function partsOf(bytes: Buffer): Parts {
  const length = Number(bytes.readBigUInt64LE(0));
  const { __metadata__, ...tensors } = JSON.parse(bytes.toString("utf8", 8, 8 + length));
  return { tensors, about: __metadata__[METADATA_KEY], data: bytes.subarray(8 + length) };
}

const headerOf = ({ tensors, about }: Parts): object => ({ __metadata__: { [METADATA_KEY]: about }, ...tensors });

function assemble(parts: Parts, header: unknown = headerOf(parts)): Buffer {
  const text = Buffer.from(JSON.stringify(header) ?? "");
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, parts.data]);
}

/** Two ranges of the same length exchanged. */
function exchange(dice: Dice, bytes: Buffer): Buffer {
  const length = 1 + dice.below(dice.pick([4, 64, 512]));
  const [a, b] = [dice.below(bytes.length - length), dice.below(bytes.length - length)];
  const result = Buffer.from(bytes);
  bytes.copy(result, a, b, b + length);
  if (Math.abs(a - b) >= length) bytes.copy(result, b, a, a + length);
  return result;
}

/** With its checksums: any change of a byte is to be noticed. */
const WITH_CHECKSUMS: readonly ((dice: Dice) => Buffer)[] = [
  (dice) => {
    const bytes = Buffer.from(last);
    bytes[dice.below(bytes.length)] ^= 1 << dice.below(8);
    return bytes;
  },
  (dice) => last.subarray(0, dice.below(last.length)),
  (dice) => exchange(dice, last),
  (dice) => damage(dice, last, { pieces: [Buffer.from("\0\0\0\0"), Buffer.from('{"')], other: before }),
  // The middle of an older checkpoint, as of a disk that lost a write.
  (dice) => {
    const at = dice.below(last.length);
    const length = dice.pick([64, 512, 4096]);
    return Buffer.concat([last.subarray(0, at), before.subarray(at, at + length), last.subarray(at + length)]);
  },
  () => anothers,
];

const HUGE = [1e9, 1e15, 2 ** 53 - 1, 2 ** 53, 1e300, -1, 0.5];

/** Without checksums: what the format itself lets through. */
const WITHOUT_CHECKSUMS: readonly ((dice: Dice, parts: Parts) => Buffer)[] = [
  // Tensors under each other's names.
  (dice, { tensors, ...rest }) => {
    const [a, b] = [dice.pick(Object.keys(tensors)), dice.pick(Object.keys(tensors))];
    return assemble({ ...rest, tensors: { ...tensors, [a]: tensors[b], [b]: tensors[a] } });
  },
  // A tensor that is missing, has another shape, another type or another place.
  (dice, { tensors, ...rest }) => {
    const name = dice.pick(Object.keys(tensors));
    const { [name]: entry, ...others } = tensors;
    const other = dice.pick([
      undefined,
      { ...entry, shape: [entry.shape.reduce((size, each) => size * each, 1)] },
      { ...entry, shape: [...entry.shape, 1] },
      { ...entry, dtype: entry.dtype === "F32" ? "I32" : "F32" },
      { ...entry, shape: entry.shape.map(() => dice.pick(HUGE)) },
      { ...entry, data_offsets: [dice.pick(HUGE), dice.pick(HUGE)] as [number, number] },
    ]);
    return assemble({ ...rest, tensors: { ...others, ...(other && { [name]: other }) } });
  },
  // Counts without measure.
  (dice, { about, ...rest }) => {
    const counts = /:(\d+)(?=[,}])/g;
    return assemble({ ...rest, about: about.replace(counts, (one) => (dice.below(3) ? one : `:${dice.pick(HUGE)}`)) });
  },
  // Other metadata altogether, and another header.
  (dice, { about, ...rest }) => assemble({ ...rest, about: JSON.stringify(damageJson(dice, JSON.parse(about))) ?? "" }),
  (dice, parts) => assemble(parts, damageJson(dice, headerOf(parts))),
  (dice, parts) => exchange(dice, assemble(parts)),
];

/** Reads a damaged checkpoint; undefined where it is refused. */
function read(): Progress | undefined {
  try {
    return readCheckpoint(path, "this run", run);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    expect(error.message).toContain(path);
    return undefined;
  }
}

/** The bytes of a checkpoint of what the run has now. */
function stateOf(progress: Progress): Buffer {
  writeCheckpoint(again, "this run", progress, run);
  return readFileSync(again);
}

function forEachSeed(check: (dice: Dice) => "read" | "refused"): void {
  const counts = { read: 0, refused: 0 };
  const live = liveTensors();
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    try {
      counts[check(new Dice(seed))]++;
      expect(stateOf(readCheckpoint(good, "this run", run)).equals(before)).toBe(true);
      expect(liveTensors()).toBe(live);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${(cause as Error).stack}`, { cause });
    }
  }
  console.info(`${rounds} damaged checkpoints: ${counts.refused} refused, ${counts.read} read`);
  expect(counts.refused).toBeGreaterThan(rounds / 4);
}

test("with checksums, a damaged checkpoint is refused or read as it was written", { timeout: 1_800_000 }, () => {
  forEachSeed((dice) => {
    writeFileSync(path, dice.pick(WITH_CHECKSUMS)(dice));
    const progress = read();
    if (!progress) return "refused";
    expect(stateOf(progress).equals(last)).toBe(true);
    return "read";
  });
});

test("without checksums, a changed checkpoint is refused or can be trained from", { timeout: 1_800_000 }, () => {
  const parts = partsOf(last);
  writeFileSync(path, assemble(parts));
  expect(stateOf(read()!).equals(last)).toBe(true);
  forEachSeed((dice) => {
    writeFileSync(path, dice.pick(WITHOUT_CHECKSUMS)(dice, parts));
    if (!read()) return "refused";
    try {
      scope(() => learner.update(tinyBatch(arrays, 3), 3));
      average.afterUpdate(3, learner.parameters());
    } catch (error) {
      // Other numbers may give no loss or be too large for float32, and an average may be of other parameters; the rest is refused when it is read.
      const isKnown =
        error instanceof UsageError || / at step 3 is (NaN|-?Infinity)|without overflow/.test(String(error));
      if (!isKnown) throw error;
    }
    return "read";
  });
});
