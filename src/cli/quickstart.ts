/**
 * `nudge quickstart`: a complete experiment in two minutes, without a download. Trains ERM and ERM with the nuclear
 * norm on generated pictures, with every domain held out in turn, and reports on the runs as `nudge report` does.
 */

import { join } from "node:path";
import { Command } from "commander";
import { shellWord } from "../files/shell-words.js";
import type { Report } from "../report/index.js";
import { duration } from "../training/reporter.js";
import { RESUMABLE } from "./failure.js";
import { wholeNumber } from "./parse-options.js";
import type { QuickstartRun } from "./quickstart-runs.js";
import { onStopSignals } from "./stop-signals.js";
import { terminalLine } from "./terminal-line.js";
import { checkFolder } from "./writable-place.js";

/** With these defaults it takes about two minutes on one core. */
const USUAL = { out: "quickstart", steps: 201, seeds: 3 };

interface QuickstartFlags {
  out: string;
  steps: number;
  seeds: number;
  json?: true;
}

export function quickstartCommand(): Command {
  return new Command("quickstart")
    .description(
      "Trains ERM and ERM with the nuclear norm on generated pictures, with each domain held out in turn. Prints the accuracy on the held-out domains and the difference between the two methods, and writes report.html. It takes about two minutes on one CPU core. If it was stopped or killed, run it again to resume; finished runs are not repeated.",
    )
    .option("--out <dir>", "the folder for the runs and the report", USUAL.out)
    .option(
      "--seeds <n>",
      "the number of trials, each with its own split, initialization and batches",
      wholeNumber("--seeds", 1),
      USUAL.seeds,
    )
    .option("--steps <n>", "updates a run", wholeNumber("--steps", 1), USUAL.steps)
    .option("--json", "print the report as JSON, with the runs' folders")
    .addHelpText(
      "after",
      `
Examples:
  nudge quickstart
  nudge quickstart --seeds 10                 a narrower interval; seeds that are done stay
  nudge quickstart --steps 401 --out longer   train twice as long`,
    )
    .action((flags: QuickstartFlags) => quickstart(flags));
}

async function quickstart(flags: QuickstartFlags): Promise<void> {
  const started = performance.now();
  checkFolder(flags.out);
  const { quickstartRuns, trainQuickstartRun } = await import("./quickstart-runs.js");
  const runs = quickstartRuns(flags.seeds);
  const progress = new Progress(runs, flags.steps);
  using stop = onStopSignals((signal) =>
    progress.line(`${signal}: finishing the step; press again to stop immediately`),
  );
  const folders: string[] = [];
  for (const [i, run] of runs.entries()) {
    const out = join(flags.out, "runs");
    const options = { steps: flags.steps, out, onStatus: progress.status(i), shouldStop: () => stop.asked };
    const { folder, done, reused } = await trainQuickstartRun(run, options);
    if (!done || (stop.asked && i < runs.length - 1)) {
      progress.line(`stopped in run ${i + 1} of ${runs.length}; run nudge quickstart with the same options to resume`);
      process.exitCode = RESUMABLE;
      return;
    }
    progress.done(i, reused);
    folders.push(folder);
  }
  progress.clear();
  const [{ readResults }, { makeReport, writeReport }] = await Promise.all([
    import("../report/read-results.js"),
    import("../report/index.js"),
  ]);
  const report = makeReport(readResults(folders));
  const [page] = writeReport(report, flags.out, ["html"]);
  await print(report, { flags, folders, page, seconds: (performance.now() - started) / 1000 });
}

async function print(
  report: Report,
  made: { flags: QuickstartFlags; folders: readonly string[]; page: string; seconds: number },
): Promise<void> {
  const { toJson, toMarkdown } = await import("../report/index.js");
  const { flags, folders, page, seconds } = made;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ page, runs: folders, report: JSON.parse(toJson(report)) }, null, 2)}\n`);
    return;
  }
  const same = [
    ...(flags.steps === USUAL.steps ? [] : [`--steps ${flags.steps}`]),
    ...(flags.out === USUAL.out ? [] : [`--out ${shellWord(flags.out)}`]),
  ];
  const more = ["npx nudge quickstart", `--seeds ${flags.seeds + 5}`, ...same].join(" ");
  process.stdout.write(`${toMarkdown(report)}
${folders.length} runs in ${duration(seconds)}. The same with training curves: ${page}

Next:
  ${more}
      more trials, a narrower interval; what is done is not done again
  npx nudge train --data shapes --test-domain outlined --algorithm SWAD-NU --steps 301 --eval-every 50
      one run of another method; nudge list algorithms has them all
  npx nudge train --data ./pictures
      train on your own pictures (folders domain/class/picture) and estimate the accuracy on new domains
`);
}

/** Progress: one line that changes on a terminal, and one line per run elsewhere. */
class Progress {
  private readonly terminal = process.stderr.isTTY === true;
  /** The time of the first update. Loading the engine takes longer than many updates. */
  private begun: number | undefined;
  /** The number of updates made by this process in earlier runs. */
  private updates = 0;
  private readonly terminalLine = terminalLine();

  constructor(
    private readonly runs: readonly QuickstartRun[],
    private readonly steps: number,
  ) {}

  /** Receives the status of a run. */
  status(run: number): (status: { step: number }) => void {
    let first: number | undefined;
    return ({ step }) => {
      first ??= step - 1; // a resumed run does not start at 0
      const made = this.updates + step - first;
      if (step === this.steps) this.updates = made;
      const now = performance.now();
      this.begun ??= now;
      if (made < 2) return;
      const left = (this.runs.length - run) * this.steps - step;
      const time = duration(((now - this.begun) / 1000 / (made - 1)) * left);
      this.terminalLine.show(`${this.name(run)}, step ${step}/${this.steps}, ${time} left`);
    };
  }

  done(run: number, reused: boolean): void {
    if (!this.terminal) this.line(`${this.name(run)}: ${reused ? "already done" : "done"}`);
  }

  line(text: string): void {
    this.clear();
    process.stderr.write(`${text}\n`);
  }

  clear(): void {
    this.terminalLine.clear();
  }

  /** `run 7/24: ERM, outlined held out, seed 0` */
  private name(run: number): string {
    const { method, heldOut, seed } = this.runs[run];
    return `run ${run + 1}/${this.runs.length}: ${method}, ${heldOut} held out, seed ${seed}`;
  }
}
