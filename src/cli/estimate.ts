/** `nudge estimate`: what a model is probably worth on pictures of a new site, without labels. */

import { copyFileSync } from "node:fs";
import { Command } from "commander";
import { countOf } from "../data/show-name.js";
import { DataError, UsageError } from "../errors.js";
import { typedCommand } from "../files/typed-command.js";
import { type ModelFlags, openModel, progressLine, shortened, type Write, withModelOptions } from "./model-options.js";
import { checkFile } from "./writable-place.js";

interface EstimateFlags extends ModelFlags {
  save?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge estimate runs/latest new-site/
  nudge estimate runs/latest new-site/ --save new-site.safetensors --json

The accuracy is estimated from the model's confidence: average thresholded
confidence, with thresholds from held-out domains, and the mean confidence. The
interval is expected to contain the accuracy in 90 % of cases; its width comes
from PACS, Office-31 and the held-out domains of the model. "Sure enough" is the
share of pictures above the threshold. Labels of about 50 pictures replace the
estimate by a measurement: nudge data pick, nudge eval.

A difference from training does not mean that the model is wrong, and the test
finds small differences if there are many pictures. The estimate is what counts.

--save writes a copy of the model whose confidence fits the estimate, so that
80 % means about 80 % on this site. Its predictions are the same.`;

/** The command. `write` receives its output. */
export function estimateCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return withModelOptions(
    new Command("estimate")
      .description(
        "Estimates the accuracy of a model on pictures without labels, with an interval; tests whether they differ from the training pictures; and shows which classes and pictures are odd.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .argument("<pictures...>", "pictures, folders, glob patterns, @lists, or - for standard input"),
  )
    .option(
      "--save <file>",
      "write a copy of the model with the temperature that fits the estimate, a .safetensors file",
    )
    .option("--json", "print the report as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, pictures: string[], flags: EstimateFlags) => estimate(model, pictures, flags, write));
}

async function estimate(path: string, given: readonly string[], flags: EstimateFlags, write: Write): Promise<void> {
  if (flags.save !== undefined) checkFile(flags.save, "--save");
  const { findPictures } = await import("../data/named-pictures.js");
  const { pictures, notes } = await findPictures(given);
  using model = await openModel(path, flags);
  if (model.dependsOnBatch)
    throw new UsageError(
      `model ${path}: its prediction for a picture depends on the other pictures in the batch, so its confidence cannot be compared with that on held-out domains`,
    );
  const { SitePredictions } = await import("../own-data/site-predictions.js");
  const { siteText } = await import("../report/site-text.js");
  using progress = progressLine("predicting", pictures.length);
  const site = new SitePredictions(model);
  await site.add(pictures, { batchSize: flags.batchSize, onProgress: progress.show });
  progress.clear();
  if (site.pictures.length === 0)
    throw new DataError(`none of ${countOf(pictures.length, "picture")} could be read; the first: ${site.problems[0]}`);
  const report = site.describe();
  write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : siteText(report));
  for (const note of shortened(notes)) process.stderr.write(`note: ${note}\n`);
  if (flags.save !== undefined) await save(model.path, flags.save, report.temperature.matched);
  if (site.problems.length > 0) {
    const lines = shortened(site.problems).map((each) => `  ${each}\n`);
    process.stderr.write(`nudge: ${countOf(site.problems.length, "picture")} could not be read:\n${lines.join("")}`);
    process.exitCode = 1;
  }
}

async function save(from: string, to: string, temperature: number | null): Promise<void> {
  if (temperature === null)
    throw new UsageError("--save: the model file has no results of held-out domains, so there is no estimate to fit");
  const [{ replaceCalibration }, { readModelAbout }] = await Promise.all([
    import("../training/probe-model.js"),
    import("../model/load-model.js"),
  ]);
  copyFileSync(from, to);
  replaceCalibration(to, { ...readModelAbout(from).calibration!, temperature });
  process.stderr.write(
    `wrote ${to} with T = ${temperature.toFixed(2)}; use it: ${typedCommand()} predict ${to} PICTURES\n`,
  );
}
