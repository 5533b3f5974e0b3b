/** The options that `eval` and `embed` share: the dataset, from `--data`, `--root` and `key=value`. */

import type { Command } from "commander";
import type { Dataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { UsageError } from "../errors.js";
import { type DatasetChoice, ModelDataset } from "../model/dataset-batches.js";
import type { Model } from "../model/index.js";
import { DATASET_OPTIONS, readPairs } from "../settings/read-request.js";
import { shortened } from "./model-options.js";
import { wholeNumber } from "./parse-options.js";

export interface DataFlags {
  data?: string;
  root?: string;
  domain?: string;
  limit?: number;
}

/** Adds the options to a command. */
export function withDataOptions(command: Command): Command {
  return command
    .argument("[key=value...]", "options of the dataset, such as size=64 for shapes or layout=class for a folder")
    .option("--data <path|name>", "a folder of pictures, a manifest, or a dataset's name (required)")
    .option("--root <dir>", "the folder that contains the named dataset")
    .option("--domain <names>", "use only these domains (comma-separated)")
    .option("--limit <n>", "use at most n pictures of each domain, evenly spaced", wholeNumber("--limit", 1));
}

/** Opens the dataset and matches it to the model. */
export async function openModelData(
  model: Model,
  { data, root, domain, limit }: DataFlags,
  pairs: readonly string[],
  { labels = "model", only }: Pick<DatasetChoice, "labels" | "only"> = {},
): Promise<{ dataset: Dataset; shown: ModelDataset }> {
  if (data === undefined)
    throw new UsageError("no dataset: use --data with a folder of pictures, a manifest or the name of a dataset");
  const dataset = await openDataset(data, { root, options: readPairs(pairs, DATASET_OPTIONS) });
  const domains = domain?.split(",").map((name) => name.trim());
  return { dataset, shown: new ModelDataset(model, dataset, { domains, limit, labels, only }) };
}

/** Reports at the end which pictures could not be read, and sets the exit code to 1. */
export function tellProblems(problems: ReadonlyMap<string, string>, total: number): void {
  if (problems.size === 0) return;
  const lines = shortened([...problems.values()]).map((problem) => `  ${problem}\n`);
  process.stderr.write(
    `nudge: ${problems.size} of ${total} pictures could not be read and were skipped:\n${lines.join("")}`,
  );
  process.exitCode = 1;
}
