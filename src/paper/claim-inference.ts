/**
 * Checks whether a penalty changed inference: the model files of runs that differ only in the penalty must contain the
 * same tensors, by name, type and shape. Only the headers of the files are read.
 */

import { closeSync, readSync } from "node:fs";
import { basename, join } from "node:path";
import { openToRead } from "../files/open-file.js";
import type { StoredRun } from "../records/index.js";
import type { JudgedRuns, Verdict } from "./claims.js";

const MODEL_FILE = "model.safetensors";

/** Longer than any header of a model here. A file with a larger value is not read. */
const LONGEST_HEADER = 1 << 24;

/** Returns the verdict on "inference unchanged" from the available model files. */
export function inferenceVerdict({ stored }: JudgedRuns): Verdict {
  const seen: string[] = [];
  for (const penalized of stored) {
    if (penalized.settings.regularizers.length === 0) continue;
    const plain = stored.find((run) => run.settings.regularizers.length === 0 && sameSetting(run, penalized));
    const [a, b] = [penalized, plain].map((run) => (run ? tensorsOf(join(run.folder, MODEL_FILE)) : null));
    if (!a || !b) continue;
    const names = `${basename(penalized.folder)} and ${basename(plain!.folder)}`;
    if (a.join() !== b.join()) return { verdict: "fails", why: `the model files of ${names} hold different tensors` };
    seen.push(`${a.length} tensors`);
  }
  if (seen.length === 0)
    return {
      verdict: "no runs",
      why: "needs a finished run with a penalty and the same without, with their model files",
    };
  const pairs = seen.length === 1 ? "1 pair of runs" : `${seen.length} pairs of runs`;
  return { verdict: "holds", why: `${pairs} with and without: the same tensors by name, type and shape (${seen[0]})` };
}

function sameSetting({ settings: a }: StoredRun, { settings: b }: StoredRun): boolean {
  const backbone = (settings: object): unknown => (settings as { backbone?: string }).backbone;
  return (
    a.dataset === b.dataset &&
    a.algorithm === b.algorithm &&
    a.trialSeed === b.trialSeed &&
    a.testDomains.join("\n") === b.testDomains.join("\n") &&
    backbone(a) === backbone(b)
  );
}

/** Returns the tensors of a safetensors file as sorted text, or null if the file is missing or damaged. */
function tensorsOf(path: string): string[] | null {
  let fd: number | undefined;
  try {
    fd = openToRead(path);
    const size = Buffer.alloc(8);
    if (readSync(fd, size, 0, 8, 0) < 8) return null;
    const length = Number(size.readBigUInt64LE());
    if (length > LONGEST_HEADER) return null;
    const header = Buffer.alloc(length);
    if (readSync(fd, header, 0, length, 8) < length) return null;
    const entries = JSON.parse(header.toString("utf8")) as Record<string, { dtype: string; shape: number[] }>;
    return Object.entries(entries)
      .filter(([name]) => name !== "__metadata__")
      .map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape}]`)
      .sort();
  } catch {
    return null;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
