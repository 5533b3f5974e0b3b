/** How long the fine-tuning of `nudge train` is: as long as the time budget permits, measured once and then reused. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { countOf } from "../data/show-name.js";
import { readText } from "../files/open-file.js";
import { roughly } from "../own-data/estimate.js";
import { CPU_BUDGET, CPU_JUDGED, type Length, lengthOf, lengthWords } from "../own-data/recipe-plan.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import type { Reporter } from "../training/reporter.js";
import { RunFolder } from "../training/run-folder.js";

/** In the run folder of the probe: measurements that a resumed command must not repeat, because runs are named by them. */
const LENGTH_FILE = "length.json";

/** The share of the budget that is planned: the rest is for decoding the pictures, and for the reports. */
const PLANNED = 0.95;

interface LengthOptions {
  /** The run folder of the probe. */
  readonly folder: string;
  /** What the length depends on: one that was measured for something else is not reused. */
  readonly key: string;
  /** The number of fine-tuning runs. */
  readonly runs: number;
  /** The time budget for everything, and the part of it that is spent, in seconds. */
  readonly budget?: number;
  readonly spent: number;
  /** The requested number of steps, if any. */
  readonly asked?: number;
  readonly device: string;
  readonly reporter: Reporter;
}

/** The length of the fine-tuning runs. `sample` is one of them. */
export async function measuredLength(sample: Plan, options: LengthOptions): Promise<Length> {
  const { key, runs, spent, asked, device, reporter } = options;
  const { budget = device === "cpu" ? CPU_BUDGET : Number.POSITIVE_INFINITY } = options;
  const file = join(options.folder, LENGTH_FILE);
  if (existsSync(file)) {
    const kept = JSON.parse(readText(file)) as Length & { key: string };
    if (kept.key === key && (kept.steps > 0 || kept.skipped !== undefined)) {
      if (kept.skipped !== undefined) reporter.line(`fine-tuning is skipped: ${kept.skipped}`);
      return kept;
    }
  }
  const left = PLANNED * budget - spent;
  reporter.progress?.("measuring the time of fine-tuning");
  const domains = trainDomainsOf(sample.settings);
  const most = device === "cpu" ? CPU_JUDGED : Number.POSITIVE_INFINITY;
  const counts = domains.map((name) =>
    Math.min(most, sample.dataset.domains.find((each) => each.name === name)!.count),
  );
  const judged = counts.reduce((sum, count) => sum + count, 0) / runs;
  const measured = lengthOf(sample, { runs, left, asked, judged });
  const skipped = `${countOf(runs, "short run")} would take about ${roughly(measured.seconds ?? 0)}, but only ${roughly(Math.max(1, left))} of the time budget remained (use --budget 1h for more)`;
  const length: Length = { ...measured, ...(measured.steps === 0 && { skipped }) };
  using folder = await RunFolder.own(options.folder);
  folder.writeJson(LENGTH_FILE, { ...length, key });
  const pictures = (sample.settings.hparams.batchSize as number) * domains.length;
  reporter.line(
    length.steps === 0
      ? `fine-tuning is skipped: ${skipped}`
      : `stage 2: ${lengthWords(length, runs, pictures)} (use a shorter --budget for less time, or --recipe probe to skip fine-tuning)`,
  );
  return length;
}
