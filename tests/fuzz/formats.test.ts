/**
 * Every format that is read, damaged: whatever is in a file, a reader gives a value or one of our errors, soon, and touches nothing
 * outside its folder. Weights and pickles are in weights.test.ts. An input follows from its seed, which a failure names:
 *
 *     NUDGE_FUZZ_SEED=1234 NUDGE_FUZZ_ROUNDS=1 npx vitest run tests/fuzz/formats.test.ts -t "CSV manifests"
 *
 * NUDGE_LONG=1 makes thousands of inputs a format.
 */

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, describe, expect, test } from "vitest";
import { readAssessment } from "../../src/analysis/assessment.js";
import { main } from "../../src/cli/main.js";
import { decodeBytes } from "../../src/data/decode.js";
import { readManifest } from "../../src/data/manifest.js";
import { DataError, UsageError } from "../../src/errors.js";
import { ContentStore, contentOf, isStored } from "../../src/files/content-store.js";
import { importParquet } from "../../src/get-data/import-parquet.js";
import { unpack } from "../../src/get-data/unpack.js";
import { loadModel } from "../../src/model/index.js";
import { PackFile } from "../../src/pack/pack-file.js";
import { cutRecords, readRecords } from "../../src/records/store.js";
import { makeReport, reportText } from "../../src/report/index.js";
import { readResults } from "../../src/report/read-results.js";
import { readConfig } from "../../src/settings/read-request.js";
import { readPlan } from "../../src/sweep/sweep-folder.js";
import { tarGzOf, tarOf, zipOf } from "../support/archives.js";
import { pixelsOf } from "../support/made-pictures.js";
import { catchPrinted } from "../support/printed.js";
import { Dice, damage, damageJson } from "./damage.js";

const long = process.env.NUDGE_LONG !== undefined;
const rounds = Number(process.env.NUDGE_FUZZ_ROUNDS ?? (long ? 3000 : 40));
const firstSeed = Number(process.env.NUDGE_FUZZ_SEED ?? 1);
const SLOWEST_MS = long ? 20_000 : 10_000;
const printed = catchPrinted();

const folder = mkdtempSync(join(tmpdir(), "nudge-formats-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const released = new URL("../released/", import.meta.url).pathname;
/** The version whose files are damaged. */
const latest = readdirSync(released)
  .filter((name) => /^\d/.test(name))
  .sort()
  .at(-1)!;
const load = (name: string): Buffer => readFileSync(released + name);

interface Target {
  /** An input by its dice. */
  input(dice: Dice): Uint8Array;
  /** Reads a file with these bytes; `place` is an empty folder for what comes out. */
  read(path: string, place: string): unknown;
  readonly ending?: string;
  /** How many times fewer inputs: what takes long. */
  readonly fewer?: number;
}

const damaged =
  (originals: readonly Uint8Array[], pieces: readonly string[]) =>
  (dice: Dice): Buffer =>
    damage(dice, Buffer.from(dice.pick(originals)), {
      pieces: pieces.map((piece) => Buffer.from(piece, "latin1")),
      other: Buffer.from(dice.pick(originals)),
      inPlace: dice.below(3) === 0,
    });

/** JSON whose structure is damaged, or now and then its bytes. */
const damagedJson =
  (original: Uint8Array | string) =>
  (dice: Dice): Buffer => {
    const text = Buffer.from(original).toString("utf8");
    if (dice.below(4) === 0) return damaged([Buffer.from(text)], ['"', "{", "}", "[", ",", "\\u0000", "1e999"])(dice);
    return Buffer.from(JSON.stringify(damageJson(dice, JSON.parse(text))) ?? "");
  };

const damagedLines =
  (original: Uint8Array) =>
  (dice: Dice): Buffer => {
    const lines = Buffer.from(original).toString("utf8").trimEnd().split("\n");
    const at = dice.below(lines.length);
    lines[at] = damagedJson(lines[at])(dice).toString("utf8");
    return dice.below(4) === 0
      ? damaged([original], ["\n", "\0", '{"step":'])(dice)
      : Buffer.from(`${lines.join("\n")}\n`);
  };

/** A model without checksums, of version 0.1.0, with other metadata. */
function damagedModel(dice: Dice): Buffer {
  const bytes = load("0.1.0/done-run/model.safetensors");
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + length));
  const about = damageJson(dice, JSON.parse(header.__metadata__.nudge));
  header.__metadata__.nudge = JSON.stringify(about) ?? "";
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, bytes.subarray(8 + length)]);
}

const picture = sharp(pixelsOf(1, 24, 20), { raw: { width: 24, height: 20, channels: 3 } });
const pictures = await Promise.all(
  (["jpeg", "png", "webp", "gif", "tiff", "avif"] as const).map((format) =>
    picture.clone().toFormat(format).toBuffer(),
  ),
);
const bmp = Buffer.concat([
  Buffer.from("BM"),
  Buffer.from(
    "5e000000000000003600000028000000030000000400000001001800000000002800000000000000000000000000000000000000",
    "hex",
  ),
  pixelsOf(2, 4, 4),
]);
const ppm = Buffer.concat([Buffer.from("P6\n4 4\n255\n"), pixelsOf(3, 4, 4)]);

const run = readdirSync(`${released}${latest}/sweep/runs`)[0];
const archived = [1, 2, 3].map((i) => ({ name: `photo/dog/${i}.png`, content: pixelsOf(i, 8, 8) }));
const assessed = {
  ...{ format: 1, model: "current", step: 3, classes: ["cat", "dog"] },
  domains: [{ name: "a", part: "held out", samples: 4, correct: 3, accuracy: 0.75, confusion: [[2, 0], [1, 1]] }], // biome-ignore format: a matrix
  calibration: { expectedError: 0.1, temperature: 1, bins: [] },
  mostWrong: [
    {
      domain: "a",
      path: "a/1.png",
      part: "held out",
      label: "cat",
      predicted: "dog",
      confidence: 0.9,
      truth: 0.1,
      loss: 2,
    },
  ],
};

const TARGETS: Record<string, Target> = {
  pictures: {
    input: damaged(
      [...pictures, bmp, ppm],
      ["\xff\xd8\xff", "IHDR", "IDAT", "RIFF", "Exif\0\0", "\0\0\0\0", "\xff\xff\xff\xff"],
    ),
    read: (path) => decodeBytes(readFileSync(path), path),
  },
  "YAML settings": {
    input: damaged(
      [
        Buffer.from(
          "data: shapes\nsteps: 300\nswad: { tolerance: 0.2 }\naveraging: [swad]\nlr: 1e-4\n# note\ntestDomains:\n  - a\n",
        ),
      ],
      [
        "&a ",
        "*a",
        "!!binary ",
        "- ",
        ": ",
        "? ",
        "|\n",
        "{",
        "}",
        "[",
        "<<: ",
        "%YAML 9\n",
        "---\n",
        "\t",
        "\0",
        "!!js/function 'x'",
      ],
    ),
    read: readConfig,
  },
  "records, JSON lines": {
    input: damagedLines(load(`${latest}/sweep/runs/${run}/records.jsonl`)),
    read: (path) => {
      readRecords(path);
      cutRecords(path, 3, 5);
    },
  },
  "CSV manifests": {
    ending: ".csv",
    input: damaged(
      [Buffer.from('path,label,domain,split\na/1.png,cat,a,in\n"a/with, comma.png",dog,b,out\na/2.png,cat,a,\n')],
      ['"', '""', ",", "\r\n", "\n", "\0", ";", "path", "label", "\ufeff", "../../x.png"],
    ),
    read: readManifest,
  },
  "JSONL manifests": {
    ending: ".jsonl",
    input: damagedLines(
      Buffer.from(
        '{"path":"a/1.png","label":"cat","domain":"a"}\n{"path":"a/2.png","label":"dog","domain":"b","split":"in"}\n',
      ),
    ),
    read: readManifest,
  },
  "plans and sweeps": {
    input: (dice) =>
      (dice.below(2) === 0
        ? damagedJson(load(`${latest}/sweep/sweep.json`))
        : damagedLines(load(`${latest}/sweep/plan.jsonl`)))(dice),
    read: (path, place) => {
      cpSync(`${released}${latest}/sweep/plan.jsonl`, join(place, "plan.jsonl"));
      cpSync(`${released}${latest}/sweep/sweep.json`, join(place, "sweep.json"));
      const bytes = readFileSync(path);
      writeFileSync(join(place, bytes.includes('"protocol"') ? "sweep.json" : "plan.jsonl"), bytes);
      return readPlan(place);
    },
  },
  "settings of runs, up to a report": {
    input: damagedJson(load(`${latest}/sweep/runs/${run}/settings.json`)),
    read: (path, place) => {
      cpSync(`${released}${latest}/sweep/runs/${run}`, join(place, run), { recursive: true });
      cpSync(path, join(place, run, "settings.json"));
      return reportText(makeReport(readResults([place])), "md");
    },
    fewer: 4,
  },
  assessments: { input: damagedJson(JSON.stringify(assessed)), read: readAssessment },
  "models' metadata": {
    ending: ".safetensors",
    input: damagedModel,
    read: async (path) => {
      using model = await loadModel(path);
      model.about.classes.map(String);
    },
    fewer: 2,
  },
  "models and checkpoints, byte by byte": {
    ending: ".safetensors",
    input: damaged(
      [load(`${latest}/done-run/model.safetensors`), load("0.1.0/done-run/model.safetensors")],
      ["{", "}", '"', "\0\0\0\0"],
    ),
    read: async (path) => {
      using _ = await loadModel(path);
    },
    fewer: 2,
  },
  "checkpoints, resumed": {
    input: damaged([load(`${latest}/stopped-run/checkpoint/last.safetensors`)], ["\0", '\\"next\\":9', "{"]),
    read: async (path, place) => {
      const at = join(place, "run");
      cpSync(`${released}${latest}/stopped-run`, at, { recursive: true });
      rmSync(join(at, "checkpoint/previous.safetensors"), { force: true });
      cpSync(path, join(at, "checkpoint/last.safetensors"));
      const code = await main(["train", "--resume", at, "--quiet"]);
      if (printed.stderr.includes("\n    at ")) throw new Error(printed.stderr);
      printed.stderr = "";
      if (code !== 0) throw new DataError(`${path}: refused`);
    },
    fewer: 20,
  },
  packs: {
    ending: ".nudge",
    input: damaged([load(`${latest}/sweep.nudge`)], ["\x1f\x8b\x08", "\0\0\0\0", "ustar"]),
    read: (path) => {
      const pack = new PackFile(path);
      for (const files of pack.runs()) for (const name of files.all) files.text(name);
      for (const name of pack.study.all) pack.study.text(name);
    },
  },
  "archives: zip and tar": {
    input: damaged(
      [zipOf(archived), tarOf(archived), tarGzOf(archived)],
      ["PK\x01\x02", "PK\x05\x06", "../../", "/etc/", "ustar", "0000777", "\xff\xff\xff\xff"],
    ),
    read: (path, place) => unpack(path, place),
  },
  "parquet files": {
    ending: ".parquet",
    input: damaged(
      ["hugging-face"].map((name) => readFileSync(new URL(`../vectors/parquet/${name}.parquet`, import.meta.url))),
      ["PAR1", "\x15\x04", "\xff\xff\xff\xff", "image", "\0"],
    ),
    read: (path, place) => importParquet([path], place),
  },
  "caches of pictures": {
    input: (dice) =>
      damagedLines(
        load(`${latest}/cache/${readdirSync(`${released}${latest}/cache`).find((name) => name.startsWith("index"))}`),
      )(dice),
    read: (path, place) => {
      const names = readdirSync(`${released}${latest}/cache`);
      for (const name of names) cpSync(`${released}${latest}/cache/${name}`, join(place, name));
      cpSync(path, join(place, names.find((name) => name.startsWith("index"))!));
      using store = new ContentStore(place, {
        ...{
          kind: { of: "decoded pictures", shortSide: 256, upright: true },
          isWhole: () => true,
          what: "cache",
          root: "/data",
          advice: "",
        },
      });
      const content = contentOf(load("pictures/a/cat/1.png"));
      const found = store.find(content);
      if (found) expect(store.read(found)?.length ?? 768).toBe(768); // whole, or known to be damaged
      for (const entry of store.entries.values()) if (isStored(entry)) store.read(entry);
    },
  },
};

/** One input, which the reader takes or refuses with words. */
async function tryOne({ input, read, ending = "" }: Target, seed: number): Promise<void> {
  const place = join(folder, "a", "place");
  // Inputs stay until the end: a reader that gave up may still have a part of one on its way.
  const path = join(folder, "inputs", `${seed}${ending}`);
  for (const each of [place, join(folder, "inputs")]) mkdirSync(each, { recursive: true });
  const bytes = input(new Dice(seed));
  writeFileSync(path, bytes);
  const begun = performance.now();
  try {
    await read(path, place);
  } catch (error) {
    if (!(error instanceof DataError || error instanceof UsageError)) throw error;
    expect(error.message.length).toBeLessThan(3000);
  }
  expect(performance.now() - begun).toBeLessThan(SLOWEST_MS);
  rmSync(place, { recursive: true, force: true });
  expect(readdirSync(join(folder, "a"))).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(["a", "inputs"]);
}

describe.each(Object.entries(TARGETS))("%s", (_, target) => {
  const count = Math.ceil(rounds / (target.fewer ?? 1));
  test(`${count} damaged inputs give values or errors of ours`, { timeout: long ? 1_800_000 : 120_000 }, async () => {
    for (let seed = firstSeed; seed < firstSeed + count; seed++) {
      try {
        await tryOne(target, seed);
      } catch (cause) {
        throw new Error(`seed ${seed}: ${(cause as Error).stack}`, { cause });
      }
    }
    rmSync(join(folder, "inputs"), { recursive: true });
  });
});
