/** `nudge data cache`: decodes a dataset's pictures once, so that training need not. Never loads the engine. */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { Command } from "commander";
import type { CachePlan, CacheReport } from "../data/cache.js";
import { openDataset } from "../data/open-dataset.js";
import { countOf, listNames } from "../data/show-name.js";
import { StoppedError, UsageError } from "../errors.js";
import { RESUMABLE } from "./failure.js";
import { wholeNumber } from "./parse-options.js";
import { onStopSignals } from "./stop-signals.js";
import { terminalLine } from "./terminal-line.js";

type Write = (text: string) => void;

interface CacheCommandOptions {
  root?: string;
  out?: string;
  shortSide: number;
  full: boolean;
  fresh: boolean;
  json: boolean;
}

export function cacheCommand(write: Write): Command {
  return new Command("cache")
    .summary("decode every picture once, for training")
    .description(
      "Decodes every picture once into a cache of pixels, which training reads instead of the files. Prints its size first; can be stopped at any moment and run again; decodes again what has changed.",
    )
    .argument("<dir>", "a folder of pictures, a benchmark's folder, a .csv or .jsonl manifest, or a dataset's name")
    .option("--root <dir>", "the folder a named dataset lies in")
    .option("--out <dir>", "the cache's folder (default: ~/.cache/nudge/pictures, where training looks)")
    .option("--short-side <n>", "scale down pictures whose short side is longer", wholeNumber("--short-side", 1), 256)
    .option("--full", "keep every picture in its full size", false)
    .option("--fresh", "throw away what was made for this folder, and begin again", false)
    .option("--json", "print the outcome as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge data cache ./pictures
  nudge data cache pacs --root data --short-side 256
  nudge data cache ./pictures --full --out /scratch/pixels`,
    )
    .action((path: string, options: CacheCommandOptions) => cache(path, options, write));
}

/**
 * Node decodes on four threads unless it is told otherwise before it starts: with more cores, the command starts itself again
 * and tells it. Not where it is called from another program.
 */
async function restarted(): Promise<boolean> {
  const cores = availableParallelism();
  const isCommand = /[/\\]nudge(\.mjs)?$/.test(process.argv[1] ?? "");
  if (!isCommand || cores <= 4 || process.env.UV_THREADPOOL_SIZE !== undefined) return false;
  const env = { ...process.env, UV_THREADPOOL_SIZE: String(Math.min(cores, 128)) };
  const child = spawn(process.execPath, process.argv.slice(1), { env, stdio: "inherit" });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  process.on("SIGINT", forward).on("SIGTERM", forward);
  process.exitCode = await new Promise<number>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done(code ?? 1));
  });
  return true;
}

async function cache(path: string, options: CacheCommandOptions, write: Write): Promise<void> {
  const dataset = await openDataset(path, { root: options.root });
  if (dataset.kind !== "pictures")
    throw new UsageError(`dataset ${dataset.id} has no picture files to decode: nothing to cache`);
  if (await restarted()) return;
  const { buildCache } = await import("../data/cache.js"); // brings the decoder
  const line = terminalLine();
  const start = performance.now();
  using stop = onStopSignals((signal) => {
    line.clear();
    process.stderr.write(`${signal}: finishing the picture; once more to stop at once\n`);
  });
  const tell: Write = options.json ? (text) => process.stderr.write(text) : write;
  const building = buildCache(dataset, {
    folder: options.out,
    shortSide: options.full ? null : options.shortSide,
    fresh: options.fresh,
    onPlan: (plan) => tell(planText(plan)),
    onProgress: ({ done, total }) => {
      const rate = (done / (performance.now() - start)) * 1000;
      line.show(
        `decoding: ${done} of ${total}, ${rate.toFixed(0)} a second, about ${Math.ceil((total - done) / rate)} s left`,
      );
    },
    shouldStop: () => stop.asked,
    lock: {
      onWait: (owner) =>
        tell(`waiting for another process at this cache${owner ? ` (${owner.pid} on ${owner.host})` : ""}\n`),
    },
  });
  const report = await building.catch((error: unknown) => {
    if (!(error instanceof StoppedError)) throw error;
    line.clear();
    process.stderr.write(`${error.message}; go on with: the same command\n`);
    process.exitCode = RESUMABLE;
    return null;
  });
  if (report === null) return;
  line.clear();
  write(options.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
}

function size(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

function planText({ folder, pictures, missing, bytes, free }: CachePlan): string {
  const rest =
    missing === pictures
      ? ""
      : `, ${missing === 0 ? "all of them cached already" : `${countOf(missing, "picture")} to decode`}`;
  const room = missing === 0 ? "" : `; about ${size(bytes)}, of ${size(free)} free`;
  return `${countOf(pictures, "picture")}${rest}${room}\ncache: ${folder}\n`;
}

function reportText({ pictures, added, known, bytes, bad, truncated, unused, seconds }: CacheReport): string {
  const speed =
    added > 0
      ? `, ${countOf(added, "picture")} decoded in ${seconds.toFixed(1)} s (${Math.round(added / seconds)} a second)`
      : "";
  const copies = known > 0 ? `, ${countOf(known, "picture")} known by content` : "";
  const lines = [`cached: ${countOf(pictures - bad.length, "picture")}, ${size(bytes)}${speed}${copies}`];
  if (truncated.length > 0) lines.push(`cut short, read as far as they go: ${listNames(truncated)}`);
  if (bad.length > 0)
    lines.push(`cannot be decoded, ${bad.length}:`, ...bad.slice(0, 20).map(({ problem }) => `  ${problem}`));
  if (bad.length > 20) lines.push(`  … and ${bad.length - 20} more (--json lists them)`);
  if (unused > 0)
    lines.push(`${size(unused)} in the cache are of pictures that have changed since; --fresh gives them back`);
  return `${lines.join("\n")}\n`;
}
