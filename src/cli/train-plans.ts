/** The runs of one `nudge train`, one after the other, and what is said at the end. */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import {
  ASSESSMENT_FILE,
  type AssessedDomain,
  type Assessment,
  heldOutTogether,
  readAssessment,
} from "../analysis/assessment.js";
import { countOf } from "../data/show-name.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import { estimateRun, roughly } from "../own-data/estimate.js";
import type { TrainPlans } from "../own-data/plans.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { ESTIMATE_FILE } from "../records/run.js";
import { heldOutOf } from "../report/run-page.js";
import { REPORT_FILE, writeRunReport } from "../report/run-report.js";
import { runSummary } from "../report/run-summary.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import { RunFolder } from "../training/run-folder.js";
import { RESUMABLE } from "./failure.js";
import { nameRun, runPath, shortPath } from "./run-path.js";
import type { StopSignals } from "./stop-signals.js";
import { type RunOutcome, trainRun } from "./train-run.js";

export interface TrainPlansOptions {
  /** The folder that run folders are made in; or the folder of the one run there is, which then goes on. */
  readonly out?: string;
  readonly path?: string;
  /** Another name for the main run. */
  readonly name?: string;
  readonly json?: boolean;
  readonly reporter: Reporter;
  readonly stop: StopSignals;
}

/** Trains all runs; the main one first, so that there is a model to use while the others estimate. */
export async function trainPlans(plans: TrainPlans, options: TrainPlansOptions): Promise<void> {
  const { main, heldOut, words } = plans;
  const { stop, json } = options;
  const reporter = withoutRepeatedNotes(options.reporter);
  const pathOf = (plan: Plan): string => options.path ?? runPath(options.out ?? "runs", plan.settings);
  const path = pathOf(main);
  for (const text of words) reporter.line(text);
  if (plans.own && !existsSync(join(path, "done"))) {
    reporter.progress?.("measuring how long it will take");
    reporter.line(timeWords(plans));
  }
  const goOn = options.path !== undefined || heldOut.length > 0 || isOwnDataset(main.dataset.id);
  let outcome: RunOutcome = { done: true, already: true };
  for (const [i, plan] of [main, ...heldOut].entries()) {
    // For a signal that came while the time was measured; twice, since the first turn may come before signals are looked for.
    await turn();
    await turn();
    if (stop.asked) {
      reporter.line(`stopped before the ${i === 0 ? "first" : "next"} run; go on with: the same command`);
      process.exitCode = RESUMABLE;
      if (json) printJson(path, main, stopped(outcome));
      return;
    }
    const held = plan.settings.testDomains;
    if (heldOut.length > 0)
      reporter.line(`run ${i + 1} of ${heldOut.length + 1}: ${i === 0 ? "all domains" : `without ${held.join(", ")}`}`);
    const goOnWith = heldOut.length > 0 ? "the same command" : undefined;
    const ended = await trainRun(plan, { path: pathOf(plan), reporter, stop, goOn, goOnWith });
    if (i === 0) outcome = ended;
    if (!ended.done) {
      process.exitCode = RESUMABLE;
      if (json) printJson(path, main, stopped(outcome));
      return;
    }
  }
  const estimate = heldOut.length > 0 ? await addEstimate(main, path, heldOut.map(pathOf)) : null;
  if (heldOut.length > 0 && estimate === null)
    reporter.line(
      "note: runs with a domain held out have no assessment.json, so there is no estimate; train them anew",
    );
  nameRun(path, options, reporter);
  const found = join(path, ASSESSMENT_FILE);
  const assessment = existsSync(found) ? readAssessment(found) : null;
  const facts = assessment && factsOf(path, assessment, estimate);
  if (json) printJson(path, main, { ...outcome, ...facts });
  else if (facts && assessment)
    process.stdout.write(
      `${runSummary(assessment, estimate)}\nmodel: ${facts.model}\nreport: ${facts.report}\nuse it: ${typedCommand()} predict ${shellWord(shortPath(path, options.name))} PICTURES\n${"already" in outcome ? "already done" : "done"}: ${path}\n`,
    );
  else process.stdout.write(`${"already" in outcome ? "already done" : "done"}: ${path}\n`);
}

/** Runs on the same pictures have the same notes: each is told once. */
function withoutRepeatedNotes(reporter: Reporter): Reporter {
  const told = new Set<string>();
  return {
    ...reporter,
    line(text) {
      if (text.startsWith("note: ") && told.has(text)) return;
      told.add(text);
      reporter.line(text);
    },
  };
}

/** Seconds that nobody waits for without having been told of another way. */
const LONG = 600;

/** How long it will take, as measured just now. */
function timeWords({ main, heldOut }: TrainPlans): string {
  const { steps, hparams, domains, testDomains, device, threads } = main.settings;
  const one = estimateRun(main);
  const runs = heldOut.length > 0 ? `${heldOut.length + 1} runs of ` : "";
  const on = device === "cpu" ? countOf(threads, "CPU thread") : device;
  const work = `${runs}${steps} updates of ${domains.length - testDomains.length} × ${hparams.batchSize} pictures`;
  if (one === null) return `${work} on ${on}`;
  // Runs that hold a domain out train on fewer pictures and assess more: about the same.
  const total = (one.training + one.evaluation) * (1 + heldOut.length);
  const { weights } = main.settings;
  return `${work}: about ${roughly(total)} on ${on}, as measured just now; ${waysToShorten(total, weights !== null)}`;
}

function waysToShorten(seconds: number, hasWeights: boolean): string {
  if (!hasWeights) return "--steps makes it shorter";
  return seconds > LONG
    ? "--probe takes minutes, and with few pictures is often no worse: try it first"
    : "--steps and --probe make it shorter";
}

/** Puts what the runs with a domain held out found beside the main run's model, and into its report. */
async function addEstimate(main: Plan, path: string, runs: readonly string[]): Promise<Assessment | null> {
  const { dataset, settings } = main;
  const found = runs.map((run) => join(run, ASSESSMENT_FILE));
  if (dataset.kind !== "pictures" || !found.every((file) => existsSync(file))) return null;
  const estimate = heldOutTogether(found.map(readAssessment));
  using folder = await RunFolder.own(path);
  folder.writeJson(ESTIMATE_FILE, { ...estimate, runs: runs.map((run) => basename(run)) });
  await writeRunReport({ folder: path, settings, dataset }, estimate);
  return estimate;
}

const shareOf = ({ name, count, accuracy, interval }: AssessedDomain): object => ({
  domain: name,
  count,
  accuracy,
  interval,
});

function factsOf(path: string, assessment: Assessment, estimate: Assessment | null) {
  return {
    model: join(path, "model.safetensors"),
    report: join(path, REPORT_FILE),
    heldOut: heldOutOf({ assessment, estimate }).domains.map(shareOf),
    validation: assessment.domains.filter(({ part }) => part === "validation").map(shareOf),
  };
}

/** A main run's outcome where it or one that goes with it was stopped: a run that was found done is not one that is left. */
const stopped = (outcome: RunOutcome): object => ({ ...("steps" in outcome && outcome), done: false });

function printJson(run: string, { settings: { hash } }: Plan, facts: object): void {
  process.stdout.write(`${JSON.stringify({ run, hash, ...facts })}\n`);
}
