/** A run of the index as a row of the page's list. */

import type { AssessedPart, Assessment } from "../analysis/assessment.js";
import { expectedOf } from "../analysis/expected.js";
import { NOTHING_FIXED } from "../records/fixed-settings.js";
import { datasetIn, isOwnDataset, withoutSlash } from "../records/own-pictures.js";
import { ESTIMATE_FILE, methodOf, ownAssessment } from "../records/run.js";
import { meanAccuracy } from "../report/run-page.js";
import type { IndexedRun } from "../run-index/indexed-run.js";
import { runMethodTitle } from "../settings/names.js";
import type { RunRow } from "./api.js";

export function runRow(run: IndexedRun): RunRow {
  const { id, settings, accuracies, files, work } = run;
  const isOwn = settings !== undefined && isOwnDataset(settings.dataset);
  // The assessment of a finished run on own pictures, as in its report.
  const assessed = isOwn && run.isDone ? ownAssessment(files, settings) : undefined;
  const estimate = isOwn && run.isDone && run.isForUse ? ownAssessment(files, settings, ESTIMATE_FILE) : undefined;
  const { testDomains = [], domains = [], steps = null } = settings ?? {};
  const method = settings && methodOf(settings, settings.averaging[0]?.id ?? "current");
  const training = domains.filter((domain) => !testDomains.includes(domain));
  return {
    id,
    sweep: run.sweep?.id ?? null,
    state: run.state,
    dataset: settings ? withoutSlash(datasetIn(settings)) : "",
    own: isOwn,
    heldOut: testDomains,
    method: method ? runMethodTitle(method, settings as { probe?: unknown }) : "",
    fixed: method?.fixed ?? NOTHING_FIXED,
    trial: settings?.trialSeed ?? 0,
    draw: settings?.hparamsSeed ?? 0,
    step: accuracies?.lastStep ?? null,
    steps,
    reported: work?.progress ? { step: work.progress.step, left: work.progress.left, at: work.seen } : null,
    validation: assessed ? meanOf(assessed, "validation") : (accuracies?.lastAccuracy(training, "out") ?? null),
    test: assessed ? meanOf(assessed, "held out") : (accuracies?.lastAccuracy(testDomains, "in") ?? null),
    expected: estimate ? expectedOf(estimate.domains) : null,
    assessed: assessed !== undefined,
    secondsPerStep: run.secondsPerStep,
    at: run.changedAt,
    problem: run.problem,
  };
}

/** The mean of the assessed accuracies on one part; null if no domain has that part. */
function meanOf({ domains }: Assessment, part: AssessedPart): number | null {
  const of = domains.filter((domain) => domain.part === part);
  return of.length > 0 ? meanAccuracy(of) : null;
}
