/** The runs of one `nudge train` command, one after the other, and the summary at the end. */

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
import { datasets } from "../data/datasets/index.js";
import { countOf } from "../data/show-name.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import { estimateRun, roughly } from "../own-data/estimate.js";
import type { TrainPlans } from "../own-data/plans.js";
import { nearCopiesOf } from "../own-data/probe-evidence.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { ESTIMATE_FILE } from "../records/run.js";
import { heldOutOf } from "../report/run-page.js";
import { REPORT_FILE, writeRunReport } from "../report/run-report.js";
import { runSummary } from "../report/run-summary.js";
import { withOwnFolder } from "../settings/edition.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import { factsAt, RunFolder } from "../training/run-folder.js";
import { openFeatures } from "../training/samples.js";
import { RESUMABLE } from "./failure.js";
import { LATEST, linkRun, nameRun, runPath, shortPath } from "./run-path.js";
import type { StopSignals } from "./stop-signals.js";
import { checkOther, compared, comparedText } from "./train-against.js";
import { type RunOutcome, trainRun } from "./train-run.js";

export interface TrainPlansOptions {
  /** The folder in which run folders are created; or the folder of the only run, which is then resumed. */
  readonly out?: string;
  readonly path?: string;
  /** Another name for the main run. */
  readonly name?: string;
  /** An earlier model to compare with. */
  readonly against?: string;
  readonly json?: boolean;
  readonly reporter: Reporter;
  readonly stop: StopSignals;
}

/** Trains all runs. The main run comes first, so that there is a model to use while the others estimate its accuracy. */
export async function trainPlans(plans: TrainPlans, options: TrainPlansOptions): Promise<void> {
  const { stop, json } = options;
  const reporter = withoutRepeatedNotes(options.reporter);
  const placeOf = (settings: Plan["settings"]): string => options.path ?? runPath(options.out ?? "runs", settings);
  const pathOf = ({ settings }: Plan): string => placeOf(settings);
  const notes: string[] = [];
  const withOwn = (asked: Plan): Plan => {
    if (options.path !== undefined) return asked; // the folder of a run that is resumed
    const { plan, note } = withOwnFolder(asked, (settings) => factsAt(placeOf(settings)));
    if (note !== undefined) notes.push(note);
    return plan;
  };
  const [main, ...heldOut] = [plans.main, ...plans.heldOut].map(withOwn);
  const words = [...plans.words, ...new Set(notes)];
  const path = pathOf(main);
  checkOther(options.against, path);
  for (const text of words) reporter.line(text);
  if (plans.own && !existsSync(join(path, "done"))) {
    reporter.progress?.("measuring the training time");
    reporter.line(timeWords(plans));
  }
  let outcome: RunOutcome = { done: true, already: true };
  for (const [i, plan] of [main, ...heldOut].entries()) {
    // Yields to the event loop, for a signal that arrived while the time was measured. This is done twice, because the first turn can come before
    // signals are handled.
    await turn();
    await turn();
    if (stop.asked) {
      reporter.line(`stopped before the ${i === 0 ? "first" : "next"} run; run the same command to resume`);
      process.exitCode = RESUMABLE;
      if (json) printJson(path, main, stopped(outcome));
      return;
    }
    const held = plan.settings.testDomains;
    if (heldOut.length > 0)
      reporter.line(`run ${i + 1} of ${heldOut.length + 1}: ${i === 0 ? "all domains" : `without ${held.join(", ")}`}`);
    const resumeWith = heldOut.length > 0 ? "the same command" : undefined;
    const isLatest = heldOut.length === 0;
    const ended = await trainRun(plan, { path: pathOf(plan), reporter, stop, isLatest, resumeWith });
    if (i === 0) outcome = ended;
    if (i === 0 && ended.done) linkRun(path, LATEST); // before the others, which only measure
    if (!ended.done) {
      process.exitCode = RESUMABLE;
      if (json) printJson(path, main, stopped(outcome));
      return;
    }
  }
  const copies = heldOut.length > 0 ? await nearCopyNotes(main) : [];
  for (const note of copies) reporter.line(`note: ${note}`);
  const estimate = heldOut.length > 0 ? await addEstimate(main, path, heldOut.map(pathOf), copies) : null;
  if (heldOut.length > 0 && estimate === null)
    reporter.line(
      "note: some runs with a held-out domain have no assessment.json, so there is no estimate; train them again",
    );
  nameRun(path, options, reporter);
  const found = join(path, ASSESSMENT_FILE);
  const assessment = existsSync(found) ? readAssessment(found) : null;
  const facts = assessment && factsOf(path, assessment, estimate);
  const against = await compared(options.against, { path, plan: main, reporter });
  if (json) printJson(path, main, { ...outcome, ...facts, ...(against && { against }) });
  else if (facts && assessment)
    process.stdout.write(
      `${runSummary(assessment, estimate, datasets[main.dataset.id]?.tested?.in)}${await comparedText(against)}\nmodel: ${facts.model}\nreport: ${facts.report}\nuse it: ${typedCommand()} predict ${shellWord(shortPath(path, options.name))} PICTURES\n${"already" in outcome ? "already done" : "done"}: ${path}\n`,
    );
  else process.stdout.write(`${"already" in outcome ? "already done" : "done"}: ${path}\n`);
}

/** Runs on the same pictures have the same notes, so each note is printed once. */
function withoutRepeatedNotes(reporter: Reporter): Reporter {
  const printed = new Set<string>();
  return {
    ...reporter,
    line(text) {
      if (text.startsWith("note: ") && printed.has(text)) return;
      printed.add(text);
      reporter.line(text);
    },
  };
}

/** Above this number of seconds, a faster alternative is suggested. */
const LONG = 600;

/** The measured estimate of the training time. */
function timeWords({ main, heldOut }: TrainPlans): string {
  const { steps, hparams, domains, testDomains, device, threads } = main.settings;
  const one = estimateRun(main);
  const runs = heldOut.length > 0 ? `${heldOut.length + 1} runs of ` : "";
  const on = device === "cpu" ? countOf(threads, "CPU thread") : device;
  const work = `${runs}${steps} updates of ${domains.length - testDomains.length} × ${hparams.batchSize} pictures`;
  if (one === null) return `${work} on ${on}`;
  // Runs that hold a domain out train on fewer pictures and assess more, so they take about the same time.
  const total = (one.training + one.evaluation) * (1 + heldOut.length);
  const { weights } = main.settings;
  return `${work}: about ${roughly(total)} on ${on}, as measured just now; ${waysToShorten(total, weights !== null)}`;
}

function waysToShorten(seconds: number, hasWeights: boolean): string {
  if (!hasWeights) return "use --steps to make it shorter";
  return seconds > LONG
    ? "--probe takes only minutes and is often as good with few pictures, so try it first"
    : "use --steps or --probe to make it shorter";
}

/** Adds the results of the runs with a held-out domain to the main run's folder and report. */
async function addEstimate(
  main: Plan,
  path: string,
  runs: readonly string[],
  notes: readonly string[],
): Promise<Assessment | null> {
  const { dataset, settings } = main;
  const found = runs.map((run) => join(run, ASSESSMENT_FILE));
  if (dataset.kind !== "pictures" || !found.every((file) => existsSync(file))) return null;
  const estimate = heldOutTogether(found.map(readAssessment));
  using folder = await RunFolder.own(path);
  folder.writeJson(ESTIMATE_FILE, { ...estimate, runs: runs.map((run) => basename(run)) });
  const noted = { ...dataset, notes: [...dataset.notes, ...notes] };
  await writeRunReport({ folder: path, settings, dataset: noted }, estimate);
  return estimate;
}

/** A note on domains that are near-copies of each other. They can be found if the features have been computed, as for a probe. */
async function nearCopyNotes(main: Plan): Promise<string[]> {
  if (!main.settings.probe || !isOwnDataset(main.dataset.id)) return [];
  using samples = await openFeatures(main, {});
  return (samples ? nearCopiesOf(samples, main) : []).map(
    (names) =>
      `${names.join(" and ")} have nearly identical pictures, and each was held out alone, so the estimate is too high for a new source; --recipe probe holds them out together`,
  );
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

/**
 * The result of a main run, if it or one of its companion runs was stopped. A run that was found finished is not one
 * that was stopped.
 */
const stopped = (outcome: RunOutcome): object => ({ ...("steps" in outcome && outcome), done: false });

function printJson(run: string, { settings: { hash } }: Plan, facts: object): void {
  process.stdout.write(`${JSON.stringify({ run, hash, ...facts })}\n`);
}
