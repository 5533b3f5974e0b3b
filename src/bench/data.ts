/**
 * Measures the cost of a dataset that fits neither into the memory of the GPU nor into that of the host, such as DomainNet with
 * its 586,575 pictures: training steps on pictures that are decoded from their files each time, next to steps on pictures in
 * memory, in one run. The pictures are generated JPEGs; their size and number are options. Decoded pictures are not kept, so a
 * small number of files measures the same decoding as a large number. To measure the lists, splits and draws of a large number in a
 * short time, only some of the files are generated, and the others are hard links to them. Then the disk is not measured: the files
 * that are really there fit the file cache of the system.
 */

import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { openPictures } from "../data/picture-store.js";
import { setThreads, threads } from "../engine/device.js";
import { Random } from "../engine/random.js";
import { UsageError } from "../errors.js";
import { SettingsMemo } from "../settings/memo.js";
import { planOf } from "./train.js";
import { type TimedSteps, timeSteps } from "./train-timing.js";

const DOMAINS = ["clipart", "painting", "real", "sketch"];
const CLASSES = 10;

export interface DataBenchOptions {
  /** The number of JPEGs. */
  pictures: number;
  /** How many of them are generated; the others are links to them. The default is all. */
  distinct?: number;
  /** Their width; the height is three quarters of it. */
  width: number;
  backbone: string;
  device: string;
  precision: string;
  /** The number of pictures of each training domain in a batch. */
  batch: number;
  /** The number of timed steps. */
  steps: number;
  /** The folder of the JPEGs, which is kept and used again by the next call. The default is a temporary folder. */
  folder?: string;
}

export interface DataBench {
  pictures: number;
  /** The number of different files; the others are links to them. */
  distinct: number;
  /** Seconds for writing the files, and for listing and splitting them. */
  seconds: { generating: number; planning: number };
  /** The total size of the files and of their decoded pixels, in bytes. */
  fileBytes: number;
  pixelBytes: number;
  width: number;
  backbone: string;
  device: string;
  precision: string;
  threads: number;
  /** The number of decoding threads. */
  decoders: number;
  batch: number;
  steps: number;
  /** Steps on pictures in memory: as many pictures as a few steps draw. */
  inMemory: TimedSteps;
  /** Steps on pictures that are decoded from their files when they are drawn. */
  decoded: TimedSteps;
  /** The time of a step with decoding, relative to a step without. */
  ratio: number;
}

/** The number of pictures of each domain in memory, for the comparison. */
const MEMORY_LIMIT = 500;

export async function benchData(options: DataBenchOptions): Promise<DataBench> {
  const { pictures, width, backbone, device, precision, batch, steps } = options;
  if (pictures < DOMAINS.length * CLASSES * 5)
    throw new UsageError(`bench data: expected at least ${DOMAINS.length * CLASSES * 5} pictures, got ${pictures}`);
  const distinct = Math.min(options.distinct ?? pictures, pictures);
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "nudge-data-bench-"));
  try {
    const started = performance.now();
    const fileBytes = await makeJpegs(folder, { pictures, distinct, width });
    const generated = performance.now();
    const data = join(folder, "pictures");
    const run = { data, algorithm: "ERM", backbone, device, precision, batch };
    const memo = new SettingsMemo(); // so that the files are listed once
    const [whole, some] = [await planOf(run, memo), await planOf({ ...run, limit: MEMORY_LIMIT }, memo)];
    const planned = performance.now();
    setThreads(whole.settings.threads);
    const inMemory = await timed(some, { cache: join(folder, "cache") }, steps);
    const decoded = await timed(whole, { cache: false, memoryLimit: 0 }, steps);
    const { decodersAtOnce, defaultShortSide } = await import("../data/decode.js");
    const scale = Math.min(1, defaultShortSide / (0.75 * width));
    return {
      seconds: { generating: (generated - started) / 1000, planning: (planned - generated) / 1000 },
      ...{ pictures, distinct, fileBytes, pixelBytes: Math.round(pictures * 3 * 0.75 * (width * scale) ** 2), width },
      ...{ backbone, device: whole.settings.device, precision: whole.settings.precision, threads: threads() },
      ...{ decoders: decodersAtOnce, batch: batch * (DOMAINS.length - 1), steps },
      ...{ inMemory, decoded, ratio: decoded.stepMs / inMemory.stepMs },
    };
  } finally {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(
  plan: Awaited<ReturnType<typeof planOf>>,
  store: { cache: string | false; memoryLimit?: number },
  steps: number,
): Promise<TimedSteps> {
  const { dataset, split, settings } = plan;
  using pictures = await openPictures(dataset, { ...store, device: settings.device });
  return await timeSteps(plan, { dataset, split, pictures, lost: new Map(), [Symbol.dispose]() {} }, steps);
}

interface Jpegs {
  readonly pictures: number;
  readonly distinct: number;
  readonly width: number;
}

/** Writes the JPEGs, unless the folder contains them from an earlier call; returns their total size in bytes. */
async function makeJpegs(folder: string, { pictures, distinct, width }: Jpegs): Promise<number> {
  const record = join(folder, "generated.json");
  const wanted = JSON.stringify({ pictures, width, ...(distinct < pictures && { distinct }) });
  if (existsSync(record)) {
    const { asked, bytes } = JSON.parse(readFileSync(record, "utf8"));
    if (asked === wanted) return bytes;
    throw new UsageError(`bench data: ${folder} has other pictures (${asked}): remove it, or name another folder`);
  }
  rmSync(join(folder, "pictures"), { recursive: true, force: true }); // of a call that was interrupted
  for (const domain of DOMAINS)
    for (let label = 0; label < CLASSES; label++)
      mkdirSync(join(folder, "pictures", domain, `class-${label}`), { recursive: true });
  const pathOf = (i: number): string => {
    const [domain, label] = [DOMAINS[i % DOMAINS.length], Math.floor(i / DOMAINS.length) % CLASSES];
    return join(folder, "pictures", domain, `class-${label}`, `${i}.jpg`);
  };
  let next = 0;
  const sizes = new Float64Array(distinct);
  const worker = async (): Promise<void> => {
    for (let i = next++; i < distinct; i = next++) {
      await makeJpeg(pathOf(i), i, width);
      sizes[i] = statSync(pathOf(i)).size;
    }
  };
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, worker));
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  for (let i = distinct; i < pictures; i++) {
    linkSync(pathOf(i % distinct), pathOf(i));
    bytes += sizes[i % distinct];
  }
  writeFileSync(record, JSON.stringify({ asked: wanted, bytes }));
  return bytes;
}

/** Noise at a quarter of the size, enlarged. The files are as large as those of DomainNet on average (31 kB at 360 × 270). */
async function makeJpeg(path: string, number: number, width: number): Promise<void> {
  const [w, h] = [width, 0.75 * width].map((side) => Math.max(1, Math.round(side / 4)));
  const host = new Random(number, ["bench", "jpeg"]).host();
  const bytes = Buffer.alloc(w * h * 3);
  for (let i = 0; i < bytes.length; i += 4)
    bytes.writeUInt32LE(Math.floor(host.uniform() * 2 ** 32), Math.min(i, bytes.length - 4));
  await sharp(bytes, { raw: { width: w, height: h, channels: 3 } })
    .resize(width, Math.round(0.75 * width), { fit: "fill" })
    .jpeg({ quality: 75 })
    .toFile(path);
}
