/**
 * Measures the cost of a dataset that fits neither into the memory of the GPU nor into that of the host, such as DomainNet with
 * its 586,575 pictures: training steps on pictures that are decoded from their files each time, next to steps on pictures in
 * memory, in one run. The pictures are generated JPEGs; their size and number are options. Decoded pictures are not kept, so a
 * small number of files measures the same work as a large number. Only the disk differs: a larger share of a few files is in
 * the file cache of the system.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { openPictures } from "../data/picture-store.js";
import { setThreads, threads } from "../engine/device.js";
import { Random } from "../engine/random.js";
import { UsageError } from "../errors.js";
import { planOf } from "./train.js";
import { type TimedSteps, timeSteps } from "./train-timing.js";

const DOMAINS = ["clipart", "painting", "real", "sketch"];
const CLASSES = 10;

export interface DataBenchOptions {
  /** The number of generated JPEGs. */
  pictures: number;
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
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "nudge-data-bench-"));
  try {
    const fileBytes = await makeJpegs(folder, { pictures, width });
    const data = join(folder, "pictures");
    const run = { data, algorithm: "ERM", backbone, device, precision, batch };
    const [whole, some] = [await planOf(run), await planOf({ ...run, limit: MEMORY_LIMIT })];
    setThreads(whole.settings.threads);
    const inMemory = await timed(some, { cache: join(folder, "cache") }, steps);
    const decoded = await timed(whole, { cache: false, memoryLimit: 0 }, steps);
    const { decodersAtOnce, defaultShortSide } = await import("../data/decode.js");
    const scale = Math.min(1, defaultShortSide / (0.75 * width));
    return {
      ...{ pictures, fileBytes, pixelBytes: Math.round(pictures * 3 * 0.75 * (width * scale) ** 2), width },
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

/** Writes the JPEGs, unless the folder contains them from an earlier call; returns their total size in bytes. */
async function makeJpegs(folder: string, { pictures, width }: { pictures: number; width: number }): Promise<number> {
  const record = join(folder, "generated.json");
  const wanted = JSON.stringify({ pictures, width });
  if (existsSync(record)) {
    const { asked, bytes } = JSON.parse(readFileSync(record, "utf8"));
    if (asked === wanted) return bytes;
    throw new UsageError(`bench data: ${folder} has other pictures (${asked}): remove it, or name another folder`);
  }
  for (const domain of DOMAINS)
    for (let label = 0; label < CLASSES; label++)
      mkdirSync(join(folder, "pictures", domain, `class-${label}`), { recursive: true });
  let [next, bytes] = [0, 0];
  const worker = async (): Promise<void> => {
    for (let i = next++; i < pictures; i = next++) {
      const path = join(
        folder,
        "pictures",
        DOMAINS[i % DOMAINS.length],
        `class-${Math.floor(i / DOMAINS.length) % CLASSES}`,
        `${i}.jpg`,
      );
      await makeJpeg(path, i, width);
      bytes += statSync(path).size;
    }
  };
  await Promise.all(Array.from({ length: 2 * availableParallelism() }, worker));
  writeFileSync(record, JSON.stringify({ asked: wanted, bytes }));
  return bytes;
}

/** Noise at a quarter of the size, enlarged. It compresses about as well as photographs (30 kB at 360 × 270). */
async function makeJpeg(path: string, number: number, width: number): Promise<void> {
  const [w, h] = [width, 0.75 * width].map((side) => Math.max(1, Math.round(side / 4)));
  const host = new Random(number, ["bench", "jpeg"]).host();
  const bytes = Buffer.alloc(w * h * 3);
  for (let i = 0; i < bytes.length; i += 4)
    bytes.writeUInt32LE(Math.floor(host.uniform() * 2 ** 32), Math.min(i, bytes.length - 4));
  await sharp(bytes, { raw: { width: w, height: h, channels: 3 } })
    .resize(width, Math.round(0.75 * width), { fit: "fill" })
    .jpeg({ quality: 85 })
    .toFile(path);
}
