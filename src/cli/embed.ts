/** `nudge embed`: a model's features of labelled pictures, as files, statistics and charts. */

import { join } from "node:path";
import { Command } from "commander";
import { median } from "../analysis/evaluation.js";
import type { RankMeasures } from "../analysis/rank.js";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import type { EmbeddedDataset } from "../model/embed-dataset.js";
import { percentileText } from "../model/percentile-text.js";
import { table } from "../report/evaluation-text.js";
import { type DataFlags, openModelData, tellProblems, withDataOptions } from "./model-data.js";
import { type ModelFlags, openModel, progressLine, type Write, withModelOptions } from "./model-options.js";
import { oneOf } from "./parse-options.js";
import { checkFolder } from "./writable-place.js";

const formats = ["safetensors", "csv"] as const;

interface EmbedFlags extends ModelFlags, DataFlags {
  out: string;
  format: (typeof formats)[number];
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge embed runs/9f2c… --data ./pictures --out embedding
  nudge embed runs/9f2c… --data pacs --root data --limit 300 --format csv

Writes features.safetensors (features, labels, domains and distances; the names
are in its metadata) or features.csv, the spectrum of the features, and a map of
their two leading principal directions, coloured by domain and by class (SVG and
PNG). The classes are those of the dataset and can differ from those of the
model. The distance is the distance of a domain's median picture from the
training domains, in units in which pictures like the training pictures are at
about 1. The distance percentile is the percentage of validation pictures of the
training domains that are nearer: about 50 for pictures like the training
pictures.`;

/** The command. `write` receives its output. */
export function embedCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("embed")
    .description(
      "Computes a model's features of labelled pictures and writes them to a file, with their effective rank and a two-dimensional map.",
    )
    .argument("<model>", "a model file, or the folder of a run");
  return withModelOptions(withDataOptions(command))
    .option("--out <dir>", "the folder to write to", "embedding")
    .option("--format <format>", formats.join(" or "), oneOf("format", formats), "safetensors")
    .option("--json", "print the measures as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, pairs: string[], flags: EmbedFlags) => embed(model, pairs, flags, write));
}

async function embed(path: string, pairs: readonly string[], flags: EmbedFlags, write: Write): Promise<void> {
  checkFolder(flags.out);
  using model = await openModel(path, flags);
  const { dataset, shown } = await openModelData(model, flags, pairs, { labels: "dataset" });
  const { embedDataset } = await import("../model/embed-dataset.js");
  using line = progressLine("embedding", shown.count, "nothing was written (use --limit for fewer pictures)");
  const embedding = await embedDataset(model, shown, { batchSize: flags.batchSize, onProgress: line.show });
  line.clear();
  try {
    makeFolder(flags.out);
  } catch (cause) {
    throw new DataError(`${flags.out}: the folder could not be created: ${(cause as Error).message}`, { cause });
  }
  const file = join(flags.out, `features.${flags.format}`);
  const { drawFigures, writeCsv, writeFeatures } = await import("./embedding-files.js");
  const written = { embedding, classes: dataset.classes, about: model.about };
  if (flags.format === "csv") writeCsv(file, written);
  else writeFeatures(file, written);
  const groups = await measure(embedding);
  const figures = await drawFigures(flags.out, written);
  if (flags.json)
    write(`${JSON.stringify({ model: path, groups, files: [file, ...figures], notes: shown.notes }, null, 2)}\n`);
  else {
    write(`${groupTable(groups)}\n`);
    for (const path of [file, ...figures]) process.stderr.write(`wrote ${path}\n`);
    for (const note of shown.notes) process.stderr.write(`note: ${note}\n`);
  }
  tellProblems(embedding.problems, shown.count);
}

/** Statistics of the features of one domain, or of all. */
interface Group extends RankMeasures {
  readonly domain: string;
  /**
   * The distance of the median picture, and the share of validation pictures that are nearer; null for a model without
   * a distance score.
   */
  readonly distance: number | null;
  readonly percentile: number | null;
}

async function measure(embedding: EmbeddedDataset): Promise<Group[]> {
  const [{ rankMeasures }, { matrixOf }, { scope }] = await Promise.all([
    import("../analysis/rank.js"),
    import("../model/embed-dataset.js"),
    import("../engine/scope.js"),
  ]);
  const { pictures } = embedding;
  const domains = [...new Set(pictures.map(({ domain }) => domain))];
  const everything = domains.length > 1 ? ["all", ...domains] : domains;
  return everything.map((domain, at) => {
    const isOne = domains.length === 1 || at > 0;
    const rows = Array.from(pictures.keys()).filter((i) => !isOne || pictures[i].domain === domain);
    const far = rows.flatMap((i) => pictures[i].distance ?? []);
    return {
      domain,
      ...scope(() => rankMeasures(matrixOf(embedding, rows))),
      distance: median(far.map(({ score }) => score)),
      percentile: median(far.map(({ percentile }) => percentile)),
    };
  });
}

function groupTable(groups: readonly Group[]): string {
  const has = groups.some(({ distance }) => distance !== null);
  const head = ["domain", "pictures", "stable rank", "centred", "effective rank", "centred", "nuclear norm"];
  const rows = groups.map((group) => [
    group.domain,
    String(group.samples),
    group.stableRank.toFixed(2),
    group.centredStableRank.toFixed(2),
    group.effectiveRank.toFixed(1),
    group.centredEffectiveRank.toFixed(1),
    group.nuclearNorm.toFixed(1),
    ...(has
      ? [group.distance?.toFixed(2) ?? "–", group.percentile === null ? "–" : percentileText(group.percentile)]
      : []),
  ]);
  return table([...head, ...(has ? ["distance", "distance percentile"] : [])], rows);
}
