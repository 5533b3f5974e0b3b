/**
 * `nudge train` on the user's own pictures when no method is named. The exact probe comes first, so that a model is
 * ready in a minute or two; then, if there is time, one fine-tuned network for each fold of held-out domains; then the
 * choice, the model and the estimate. Every part has its own run folder, so that the same command resumes after a
 * stop.
 */

import { join } from "node:path";
import { ASSESSMENT_FILE, type Assessment, readAssessment } from "../analysis/assessment.js";
import { isRight, type Judged } from "../analysis/judged.js";
import { countOf } from "../data/show-name.js";
import { type Request, readKeys } from "../declared-settings/keys.js";
import { StoppedError } from "../errors.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import { assessAndReport } from "../library/train.js";
import type { CalibrationFacts } from "../model/about.js";
import { roughly } from "../own-data/estimate.js";
import { calibrationFacts } from "../own-data/held-out-confidence.js";
import { withDataNotes } from "../own-data/plans.js";
import { nearCopiesOf, type ProbeEvidence, probeEvidence } from "../own-data/probe-evidence.js";
import {
  aloneRows,
  bestTuned,
  COEFFICIENTS,
  candidateRows,
  confidenceOf,
  type JudgedFold,
  nestedChoices,
  nestedEstimate,
  type Recipe,
  reasonFor,
  recipeConfidence,
  recipeFile,
} from "../own-data/recipe.js";
import { CPU_JUDGED, type Length, type RecipeName, recipeRequests } from "../own-data/recipe-plan.js";
import { STRENGTHS } from "../probe/choose-strength.js";
import { ESTIMATE_FILE } from "../records/run.js";
import { recipeText } from "../report/recipe-text.js";
import { heldOutOf } from "../report/run-page.js";
import { REPORT_FILE, writeRunReport } from "../report/run-report.js";
import { runSummary } from "../report/run-summary.js";
import { SettingsMemo } from "../settings/memo.js";
import { datasetFor, type Plan, resolve } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { withHeat } from "../training/assess-run.js";
import { replaceCalibration } from "../training/probe-model.js";
import type { Reporter } from "../training/reporter.js";
import { RunFolder } from "../training/run-folder.js";
import { lostWords } from "../training/run-words.js";
import { openFeatures } from "../training/samples.js";
import type { EndedRun } from "../training/train.js";
import { compareProgress } from "./compare-progress.js";
import { RESUMABLE } from "./failure.js";
import { judgeCandidates, readCandidates } from "./recipe-candidates.js";
import { measuredLength } from "./recipe-length.js";
import { LATEST, linkRun, nameRun, runPath, shortPath } from "./run-path.js";
import type { StopSignals } from "./stop-signals.js";
import { checkOther, compared, comparedText } from "./train-against.js";
import { trainRun } from "./train-run.js";

export interface RecipeOptions {
  readonly recipe: RecipeName;
  /** The time budget for everything, in seconds. */
  readonly budget?: number;
  /** False if no domain is to be held out. */
  readonly leaveOneOut?: boolean;
  readonly device: string;
  readonly out: string;
  /** Another name for the main run. */
  readonly name?: string;
  /** How often each fold is fine-tuned, with other seeds and splits. */
  readonly trials?: number;
  /** An earlier model to compare with. */
  readonly against?: string;
  readonly json?: boolean;
  readonly reporter: Reporter;
  readonly stop: StopSignals;
}

/** Stopped by the user. Everything done so far is kept. */
const stopped = (): StoppedError => new StoppedError("stopped; run the same command to resume");

/** Trains with a recipe, and reports. */
export async function trainRecipe(requested: Request, options: RecipeOptions): Promise<void> {
  const { reporter } = options;
  try {
    await new RecipeRun(requested, options).run();
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error;
    reporter.line(error.message);
    process.exitCode = RESUMABLE;
  }
}

class RecipeRun {
  private readonly memo: SettingsMemo;
  private readonly begun = performance.now();
  private readonly seconds: Record<string, number> = {};
  /** The seconds that one fine-tuning takes, as measured. */
  private oneRun: number | undefined;

  constructor(
    private readonly requested: Request,
    private readonly options: RecipeOptions,
  ) {
    this.memo = new SettingsMemo(compareProgress(options.reporter, options.stop));
  }

  async run(): Promise<void> {
    const { requested, options, memo } = this;
    const { reporter, recipe, device } = options;
    const dataset = await datasetFor(requested, memo);
    const requests = recipeRequests(dataset, { ...requested, testDomains: requested.testDomains ?? [] }, device);
    for (const text of requests.words) reporter.line(text);
    const template = await withDataNotes(await resolve(requests.probe, memo), {
      holdsOut: dataset.domains.length > 1,
      comparing: memo.comparing,
    });
    for (const note of template.dataset.notes) reporter.line(`note: ${note}`);
    const { evidence, notes } = await this.timed("exact probe", () => this.evidence(template));
    for (const note of notes) reporter.line(`note: ${note}`);
    const plan = async (request: Request): Promise<Plan> => {
      const settled = await resolve(request, memo);
      return { ...settled, dataset: { ...settled.dataset, notes: [...template.dataset.notes, ...notes] } };
    };
    this.sayEvidence(evidence);
    const probe = await plan({ ...requests.probe, probeC: evidence.choice.c });
    if (recipe === "probe") checkOther(options.against, this.pathOf(probe));
    await this.train(probe, `exact probe on ${this.trainedDomains}`);
    linkRun(this.pathOf(probe), LATEST);
    reporter.line(`a model is ready: ${this.pathOf(probe)}`);
    const finetune = { ...requests.finetune, probeC: evidence.choice.c };
    const length =
      recipe === "probe" ? NONE : await this.length(await plan(this.tuned(finetune, 100, 1)), probe, evidence);
    const folds =
      length.steps === 0
        ? probeFolds(evidence)
        : await this.timed("fine-tuning", () => this.folds(plan, finetune, length.steps, evidence));
    const trials = length.steps > 0 && folds.length > 1 ? this.trials : 1;
    if (trials < this.trials)
      reporter.line(
        `note: --trials ${this.trials} has no effect, because ${length.steps === 0 ? "nothing was fine-tuned" : "no domain can be held out"}`,
      );
    const coefficients = length.steps === 0 ? [0] : COEFFICIENTS;
    const choose = recipe === "finetune" && length.steps > 0 ? bestTuned : undefined;
    const rows = candidateRows(folds, coefficients).map((row, i) =>
      choose ? { ...row, chosen: i === choose(folds) } : row,
    );
    const { coefficient } = rows.find(({ chosen }) => chosen)!;
    const main = coefficient === 0 ? probe : await plan(this.tuned(finetune, length.steps, coefficient));
    if (main !== probe) await this.timed("the model", () => this.trainMain(main));
    const by = evidence.folds.length > 1 ? "held-out domains" : "validation";
    const measured = confidenceOf(
      folds,
      rows.findIndex(({ chosen }) => chosen),
      by === "held-out domains",
    );
    const made: Recipe = {
      format: 1,
      by,
      folds: evidence.folds,
      nearCopies: evidence.nearCopies,
      c: evidence.choice.c,
      strengths: STRENGTHS.map((c, i) => ({ c, mean: evidence.choice.scores[i].mean })),
      candidates: rows,
      ...(folds[0].alone && { alone: aloneRows(folds) }),
      coefficient,
      reason:
        recipe === "auto" || length.skipped !== undefined
          ? reasonFor(rows, by, length.skipped)
          : `${rows.find(({ chosen }) => chosen)!.name}: selected with --recipe ${recipe}.`,
      nested: nestedChoices(folds, choose).map((at, i) => ({
        domains: folds[i].domains,
        coefficient: coefficients[at],
      })),
      ...(main !== probe && this.withheldBy(main)),
      ...(measured && { confidence: recipeConfidence(measured.confidence) }),
      ...(trials > 1 && { trials }),
      steps: length.steps,
      seconds: this.seconds,
    };
    const estimate =
      by === "validation"
        ? null
        : nestedEstimate(measured?.folds ?? folds, {
            classes: dataset.classes,
            step: Math.max(0, length.steps - 1),
            trials,
            choose,
          });
    if (measured && estimate)
      await this.calibrate(
        main,
        calibrationFacts(
          measured.confidence,
          evidence.folds.flat(),
          evidence.held.flatMap(({ percentiles }) => percentiles),
        ),
      );
    await this.report(main, made, estimate, this.pathOf(probe));
  }

  /** Writes what held-out domains say about the confidence of the model to its file. */
  private async calibrate(main: Plan, calibration: CalibrationFacts): Promise<void> {
    using folder = await RunFolder.own(this.pathOf(main));
    replaceCalibration(folder.file("model.safetensors"), calibration);
  }

  /** Computes the features of all pictures, then the results of the exact probe on held-out domains, and notes on excluded domains. */
  private async evidence(template: Plan): Promise<{ evidence: ProbeEvidence; notes: readonly string[] }> {
    const { reporter, stop, leaveOneOut = true } = this.options;
    const count = trainDomainsOf(template.settings).reduce(
      (sum, name) => sum + template.dataset.domains.find((each) => each.name === name)!.count,
      0,
    );
    reporter.line(
      `stage 1: computing the features of ${countOf(count, "picture")} with the pretrained network (stored for the next time), then the exact probe`,
    );
    using samples = await openFeatures(template, {
      say: (text) => reporter.line(text),
      progress: (text) => reporter.progress?.(text),
      shouldStop: () => stop.asked,
    });
    if (samples === null) throw stopped();
    if (samples.lost.size > 0) reporter.line(lostWords([...samples.lost].sort()));
    reporter.progress?.("exact probe: choosing C with each domain held out in turn");
    const { domains, testDomains } = template.settings;
    const copies = testDomains.length > 0 ? nearCopiesOf(samples, template, domains) : [];
    return {
      evidence: probeEvidence(samples, template, leaveOneOut),
      notes: copies.flatMap((group) => excludedNotes(group, testDomains)),
    };
  }

  private sayEvidence({ folds, nearCopies, choice, held }: ProbeEvidence): void {
    const { reporter, leaveOneOut } = this.options;
    const isAlone = folds.length === 1;
    for (const names of nearCopies)
      reporter.line(
        `${names.join(" and ")} have nearly identical pictures, so ${isAlone ? "none of them can be held out" : "they are held out together"}; otherwise the estimate would be too high`,
      );
    if (isAlone)
      reporter.line(
        `no domain ${leaveOneOut === false ? "is" : "can be"} held out, so the choice is based on validation pictures; this says nothing about other domains`,
      );
    const right = held.map(({ domains, c, judged }) => {
      const share = judged.filter(({ label, predicted }) => label === predicted).length / judged.length;
      return `${domains.join(" + ")} ${(100 * share).toFixed(1)} % (C = ${c})`;
    });
    const what = held[0].alone ? "probe and neighbours" : "exact probe";
    reporter.line(`${what}: C = ${choice.c}; ${folds.length > 1 ? "held out" : "validation"}: ${right.join(", ")}`);
  }

  private tuned(finetune: Request, steps: number, coefficient: number): Request {
    return {
      ...finetune,
      steps,
      evaluateEvery: steps,
      "wise-ft.coefficient": coefficient,
      "wise-ft.start": Math.floor(steps / 4),
    };
  }

  /** The length of the fine-tuning runs, and the time of one of them. */
  private async length(sample: Plan, probe: Plan, { folds }: ProbeEvidence): Promise<Length> {
    const { device, budget } = this.options;
    const { steps } = this.requested;
    const runs = folds.length > 1 ? this.trials * folds.length + 1 : 1;
    const key = JSON.stringify([budget ?? null, steps ?? null, device, this.trials]);
    const spent = (performance.now() - this.begun) / 1000;
    const asked = steps === undefined ? undefined : Number(steps);
    const length = await measuredLength(sample, {
      folder: this.pathOf(probe),
      key,
      runs,
      spent,
      asked,
      ...this.options,
    });
    if (length.seconds !== null) this.oneRun = length.seconds / runs;
    return length;
  }

  /** One fine-tuning run for each fold, and the accuracy of each interpolation coefficient on the fold's pictures. */
  private async folds(
    plan: (request: Request) => Promise<Plan>,
    finetune: Request,
    steps: number,
    { folds, held }: ProbeEvidence,
  ): Promise<JudgedFold[]> {
    const withheld = readKeys(this.requested).testDomains ?? [];
    const found: JudgedFold[] = [];
    for (const [i, domains] of folds.entries()) {
      const alone = folds.length === 1;
      const limit = this.options.device === "cpu" && !alone ? { testPictures: CPU_JUDGED } : {};
      const testDomains = alone ? withheld : [...withheld, ...domains];
      const request = { ...this.tuned(finetune, steps, 1), probeC: held[i].c, testDomains, ...limit };
      const judged: Judged[][] = COEFFICIENTS.slice(1).map(() => []);
      for (let trial = 0; trial < (alone ? 1 : this.trials); trial++) {
        const each = await this.judgedFold(await plan({ ...request, ...this.seedsOf(trial) }), {
          domains,
          alone,
          trial,
        });
        for (const [c, own] of each.entries()) judged[c].push(...own);
      }
      const byName = new Map(held[i].judged.map((each) => [each.name, each]));
      const same = [...new Set(judged[0].map(({ name }) => name))].flatMap((name) => byName.get(name) ?? []);
      const names = new Set(same.map(({ name }) => name));
      const within = (each: readonly Judged[]): Judged[] => each.filter(({ name }) => names.has(name));
      const { alone: parts } = held[i];
      found.push({
        ...{ domains, candidates: [same, ...judged.map(within)] },
        ...(parts && { alone: { probe: within(parts.probe), neighbours: within(parts.neighbours) } }),
      });
    }
    return found;
  }

  /** The domains of the model, as text. */
  private get trainedDomains(): string {
    const { testDomains = [] } = readKeys(this.requested);
    return testDomains.length === 0 ? "all domains" : `all domains except ${testDomains.join(", ")}`;
  }

  private get trials(): number {
    return this.options.trials ?? 1;
  }

  /** The seeds of a trial: the requested ones plus the number of the trial. */
  private seedsOf(trial: number): Request {
    const { seed = 0, trialSeed = 0 } = readKeys(this.requested);
    return trial === 0 ? {} : { seed: seed + trial, trialSeed: trialSeed + trial };
  }

  /** Fine-tunes with a fold held out, and evaluates each coefficient on the pictures of the fold. */
  private async judgedFold(
    run: Plan,
    { domains, alone, trial }: { domains: readonly string[]; alone: boolean; trial: number },
  ): Promise<Judged[][]> {
    const what = alone ? `fine-tuning on ${this.trainedDomains}` : `fine-tuning without ${domains.join(", ")}`;
    await this.train(run, this.trials > 1 && !alone ? `${what}, trial ${trial + 1} of ${this.trials}` : what, {
      beforeDone: (ended) => judgeCandidates(ended, domains),
    });
    return readCandidates(this.pathOf(run))!.judged;
  }

  /** Trains the final model. If a domain is excluded from everything, all candidates are evaluated on it; the choice does not depend on this. */
  private async trainMain(main: Plan): Promise<void> {
    const { testDomains } = main.settings;
    const beforeDone = async (ended: EndedRun): Promise<void> => {
      await assessAndReport(ended);
      if (testDomains.length > 0) await judgeCandidates(ended, testDomains);
    };
    const time = this.oneRun === undefined ? "" : `, about ${roughly(this.oneRun)}`;
    await this.train(main, `stage 3: the model, fine-tuned on ${this.trainedDomains}${time}`, { beforeDone });
  }

  private withheldBy(main: Plan): Pick<Recipe, "withheld"> {
    const candidates = readCandidates(this.pathOf(main));
    if (!candidates) return {};
    const { coefficients, judged } = candidates;
    const withheld = coefficients.map((coefficient, i) => ({
      ...{ coefficient, accuracy: judged[i].filter(isRight).length / judged[i].length, count: judged[i].length },
    }));
    return { withheld };
  }

  private async train(plan: Plan, what: string, more: Partial<Parameters<typeof trainRun>[1]> = {}): Promise<void> {
    const { reporter, stop } = this.options;
    await new Promise(setImmediate);
    if (stop.asked) throw stopped();
    reporter.line(what);
    const quiet: Reporter = {
      ...reporter,
      line: (text) => (text.startsWith("note: ") ? undefined : reporter.line(text)),
    };
    const resumeWith = "the same command";
    const { done } = await trainRun(plan, {
      path: this.pathOf(plan),
      reporter: quiet,
      stop,
      resumeWith,
      ...more,
    });
    if (!done) throw stopped();
  }

  private pathOf({ settings }: Plan): string {
    return runPath(this.options.out, settings);
  }

  private async timed<T>(stage: string, action: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    const made = await action();
    this.seconds[stage] = Math.round((performance.now() - begun) / 100) / 10;
    return made;
  }

  /** Writes the recipe and the estimate next to the model, writes the report, and prints the summary. */
  private async report(main: Plan, recipe: Recipe, measured: Assessment | null, probe: string): Promise<void> {
    const { json } = this.options;
    const path = this.pathOf(main);
    // The models of the folds no longer exist, so the heat maps of mistakes come from the final model, and the page
    // says so.
    const estimate: Assessment | null = measured && {
      ...measured,
      heatOfFinal: true,
      mostWrong: await withHeat(measured.mostWrong, join(path, "model.safetensors"), main),
    };
    {
      using folder = await RunFolder.own(path);
      folder.writeJson(recipeFile, recipe);
      if (estimate) folder.writeJson(ESTIMATE_FILE, estimate);
      if (main.dataset.kind === "pictures")
        await writeRunReport({ folder: path, settings: main.settings, dataset: main.dataset }, estimate);
    }
    nameRun(path, this.options, this.options.reporter);
    const assessment = readAssessment(join(path, ASSESSMENT_FILE));
    const against = await compared(this.options.against, { path, plan: main, reporter: this.options.reporter });
    const facts = { model: join(path, "model.safetensors"), report: join(path, REPORT_FILE) };
    if (json) {
      const heldOut = heldOutOf({ assessment, estimate }).domains.map(({ name, count, accuracy, interval }) => ({
        ...{ domain: name, count, accuracy, interval },
      }));
      process.stdout.write(
        `${JSON.stringify({ run: path, hash: main.settings.hash, done: true, ...facts, probe, heldOut, recipe, against })}\n`,
      );
      return;
    }
    process.stdout.write(
      `${recipeText(recipe)}\n${runSummary(assessment, estimate)}${await comparedText(against)}\nmodel: ${facts.model}\nreport: ${facts.report}\nuse it: ${typedCommand()} predict ${shellWord(shortPath(path, this.options.name))} PICTURES\ndone: ${path}\n`,
    );
  }
}

/** A note on excluded domains of a group of near-copies that has training domains too. */
function excludedNotes(group: readonly string[], testDomains: readonly string[]): string[] {
  const excluded = group.filter((name) => testDomains.includes(name));
  const learnt = group.filter((name) => !testDomains.includes(name));
  return excluded.length > 0 && learnt.length > 0
    ? [
        `${excluded.join(" and ")} and ${learnt.join(" and ")} have nearly identical pictures, so the accuracy on ${excluded.join(" and ")} says nothing about a new source`,
      ]
    : [];
}

const NONE: Length = { steps: 0, seconds: 0 };

/** The folds with the exact probe alone. */
const probeFolds = ({ held }: ProbeEvidence): JudgedFold[] =>
  held.map(({ domains, judged, alone }) => ({ domains, candidates: [judged], ...(alone && { alone }) }));
