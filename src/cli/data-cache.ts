/**
 * `nudge data cache`: decodes the pictures of a dataset once, so that training does not have to. Never loads the
 * engine.
 */
import { Command } from "commander";
import type { CachePlan, CacheReport } from "../data/cache.js";
import type { Interpolation, Scaling } from "../data/framing.js";
import { openDataset } from "../data/open-dataset.js";
import { countOf, listNames } from "../data/show-name.js";
import { StoppedError, UsageError } from "../errors.js";
import { RESUMABLE } from "./failure.js";
import { oneOf, wholeNumber } from "./parse-options.js";
import { onStopSignals } from "./stop-signals.js";
import { terminalLine } from "./terminal-line.js";

type Write = (text: string) => void;

interface CacheCommandOptions {
  root?: string;
  out?: string;
  shortSide?: number;
  weights?: string;
  interpolation?: Interpolation;
  full: boolean;
  fresh: boolean;
  json: boolean;
}

export function cacheCommand(write: Write): Command {
  return new Command("cache")
    .summary("decode every picture once, for training")
    .description(
      "Decodes every picture once into a cache of pixels, which training reads instead of the files. By default, pictures are scaled down as nudge train --data does for this folder. It prints the expected size first. You can stop it at any time and run it again: it then decodes only new and changed pictures.",
    )
    .argument("<dir>", "a folder of pictures, a benchmark's folder, a .csv or .jsonl manifest, or a dataset's name")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--out <dir>", "the folder of the cache (default: ~/.cache/nudge/pictures, where training looks for it)")
    .option(
      "--short-side <n>",
      "scale pictures down so that their short side has at most n pixels (default: as nudge train --data does)",
      wholeNumber("--short-side", 1),
    )
    .option("--weights <file>", "the initial weights that nudge train will be given, if they are named")
    .option(
      "--interpolation <filter>",
      "scale down with this filter: bilinear or bicubic (default: as nudge train --data does, which is Lanczos for benchmarks)",
      oneOf<Interpolation>("interpolation", ["bilinear", "bicubic"]),
    )
    .option("--full", "store every picture at its full size", false)
    .option("--fresh", "delete the cache of this folder and build it again", false)
    .option("--json", "print the result as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge data cache ./pictures
  nudge data cache pacs --root data --short-side 256
  nudge data cache ./pictures --weights clip.safetensors
  nudge data cache ./pictures --full --out /scratch/pixels`,
    )
    .action((path: string, options: CacheCommandOptions) => cache(path, options, write));
}

async function cache(path: string, options: CacheCommandOptions, write: Write): Promise<void> {
  const dataset = await openDataset(path, { root: options.root });
  if (dataset.kind !== "pictures")
    throw new UsageError(`dataset ${dataset.id} has no picture files to decode, so there is nothing to cache`);
  const [{ buildCache }, { defaultScaling }] = await Promise.all([
    import("../data/cache.js"), // loads the decoder
    import("../own-data/default-scaling.js"),
  ]);
  const { shortSide, filter } = options.full
    ? { shortSide: null, filter: options.interpolation }
    : scalingFor(options, () => defaultScaling(dataset, options.weights));
  const line = terminalLine();
  const start = performance.now();
  using stop = onStopSignals((signal) => {
    line.clear();
    process.stderr.write(`${signal}: finishing the picture; press again to stop immediately\n`);
  });
  const print: Write = options.json ? (text) => process.stderr.write(text) : write;
  const building = buildCache(dataset, {
    folder: options.out,
    shortSide,
    filter,
    fresh: options.fresh,
    onPlan: (plan) => print(`${planText(plan)}${scalingText({ shortSide, filter })}\n`),
    onProgress: ({ done, total }) => {
      const rate = (done / (performance.now() - start)) * 1000;
      line.show(
        `decoding: ${done} of ${total}, ${rate.toFixed(0)} per second, about ${Math.ceil((total - done) / rate)} s left`,
      );
    },
    shouldStop: () => stop.asked,
    lock: {
      onWait: (owner) =>
        print(
          `waiting for another process that is building this cache${owner ? ` (${owner.pid} on ${owner.host})` : ""}\n`,
        ),
    },
  });
  const report = await building.catch((error: unknown) => {
    if (!(error instanceof StoppedError)) throw error;
    line.clear();
    process.stderr.write(`${error.message}; run the same command to resume\n`);
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
      : `, ${missing === 0 ? "all of them already cached" : `${countOf(missing, "picture")} to decode`}`;
  const room = missing === 0 ? "" : `; this needs about ${size(bytes)} (${size(free)} are free)`;
  return `${countOf(pictures, "picture")}${rest}${room}\ncache: ${folder}\n`;
}

/** The given scaling, completed by the one that training uses by default. */
function scalingFor({ shortSide, interpolation }: CacheCommandOptions, usual: () => Scaling): Scaling {
  const filter = interpolation && { filter: interpolation };
  return shortSide !== undefined && filter
    ? { shortSide, ...filter }
    : { ...usual(), ...(shortSide && { shortSide }), ...filter };
}

/** How pictures are scaled down, as text. */
const scalingText = ({ shortSide, filter }: { shortSide: number | null; filter?: Interpolation }): string =>
  shortSide === null
    ? "size: every pixel of the pictures"
    : `size: a short side of at most ${shortSide} pixels, scaled down with ${filter === undefined ? "Lanczos'" : `the ${filter}`} filter`;

function reportText({ pictures, added, known, bytes, bad, truncated, unused, seconds }: CacheReport): string {
  const speed =
    added > 0
      ? `, ${countOf(added, "picture")} decoded in ${seconds.toFixed(1)} s (${Math.round(added / seconds)} per second)`
      : "";
  const copies = known > 0 ? `, ${countOf(known, "picture")} recognized by content` : "";
  const lines = [`cached: ${countOf(pictures - bad.length, "picture")}, ${size(bytes)}${speed}${copies}`];
  if (truncated.length > 0)
    lines.push(`truncated files, of which the readable part was decoded: ${listNames(truncated)}`);
  if (bad.length > 0)
    lines.push(`${bad.length} could not be decoded:`, ...bad.slice(0, 20).map(({ problem }) => `  ${problem}`));
  if (bad.length > 20) lines.push(`  … and ${bad.length - 20} more (--json lists them)`);
  if (unused > 0)
    lines.push(`${size(unused)} of the cache belong to pictures that have changed since; --fresh frees this space`);
  return `${lines.join("\n")}\n`;
}
