/** `nudge embed`: a model's features of labelled pictures, as files, numbers and pictures. */

import { join } from "node:path";
import { Command } from "commander";
import { median } from "../analysis/evaluation.js";
import type { RankMeasures } from "../analysis/rank.js";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import type { EmbeddedDataset } from "../model/embed-dataset.js";
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

Writes features.safetensors (features, labels, domains, distances, and in its
metadata the names) or features.csv; the spectrum of the features; and their two
leading directions as a map, coloured by domain and by class (SVG and PNG).
Classes are the dataset's own: they need not be the model's.
distance is how far a domain's middle picture lies from the domains the model
was trained on, about 1 for pictures like those;
The distance percentile is the percentage of held-back training pictures that lie
nearer, about 50 for pictures like those.`;

/** The command; `write` takes what it prints. */
export function embedCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("embed")
    .description(
      "Computes a model's features of labelled pictures: as a file, how many directions they use, and a map of them.",
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
  const { dataset, shown } = await openModelData(model, flags, pairs, "dataset");
  const { embedDataset } = await import("../model/embed-dataset.js");
  using line = progressLine("embedding", shown.count, "nothing was written (--limit takes fewer)");
  const embedding = await embedDataset(model, shown, { batchSize: flags.batchSize, onProgress: line.show });
  line.clear();
  try {
    makeFolder(flags.out);
  } catch (cause) {
    throw new DataError(`${flags.out}: the folder could not be made: ${(cause as Error).message}`, { cause });
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

/** What is told of a domain's features, or of all. */
interface Group extends RankMeasures {
  readonly domain: string;
  /** Of its middle picture, and the share of held-back training pictures that lie nearer; null without a score. */
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
    ...(has ? [(group.distance ?? Number.NaN).toFixed(2), (group.percentile ?? Number.NaN).toFixed(1)] : []),
  ]);
  return table([...head, ...(has ? ["distance", "distance percentile"] : [])], rows);
}
