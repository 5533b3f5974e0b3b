/**
 * The final models: for own pictures, the runs that were trained on all domains. Their expected accuracy on a new
 * domain is in the row of the same name in the table above; their accuracy on new pictures of their own domains is
 * here.
 */

import { type Expected, expectedOf } from "../analysis/expected.js";
import { countOf } from "../data/show-name.js";
import { shellWord } from "../files/shell-words.js";
import type { StoredRun } from "../records/index.js";
import { oneDecimal } from "../selection/cells.js";
import { type GroupResult, trainingDomain } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Outcome } from "./outcome.js";
import { meanAccuracy } from "./run-page.js";
import type { TextTable } from "./text-table.js";

/** A run that was trained on all domains of a folder. */
export interface UsableModel {
  /** The name of its row in the table. */
  readonly title: string;
  /** As `methodKey` writes it. */
  readonly method: string;
  readonly trialSeed: number;
  readonly folder: string;
  readonly done: boolean;
  /** The accuracy of runs like it on held-out domains: the mean and the lowest; null if no domain was held out. */
  readonly expected: Expected | null;
  /**
   * The mean accuracy on validation pictures of its domains, as a fraction, and their number; null before the
   * assessment.
   */
  readonly validation: number | null;
  readonly pictures: number | null;
}

/** The models of one folder of pictures. */
export interface ModelList {
  readonly dataset: string;
  readonly models: readonly UsableModel[];
}

/** The available models, by dataset; none for benchmarks, where no run is trained on all domains. */
export function modelLists(outcome: Outcome): ModelList[] {
  if (outcome.selection.id !== trainingDomain.id) return []; // other selection methods do not apply to the stored models
  return outcome.datasets.flatMap((dataset) => {
    if (!outcome.isOwnData(dataset)) return [];
    const models = outcome.methods.flatMap(({ key, title, method }) =>
      outcome.runsOf(key, dataset).flatMap((run): UsableModel[] => {
        const stored = outcome.storedOf(run);
        if (!stored || run.testDomains.length > 0) return [];
        const { folder, done, assessment } = stored;
        if (assessment && assessment.model !== method.model) return []; // the model of the run is its weight average
        const domains = assessment?.domains ?? [];
        const pictures = domains.reduce((sum, { count }) => sum + count, 0);
        const known =
          pictures > 0 ? { validation: meanAccuracy(domains), pictures } : { validation: null, pictures: null };
        const { trialSeed } = run;
        const held = outcome.resultsOf(key, dataset).filter((result) => result.trialSeed === trialSeed);
        return [
          {
            title,
            method: key,
            trialSeed,
            folder,
            done,
            expected: expectedFrom(held) ?? estimatedOf(stored),
            ...known,
          },
        ];
      }),
    );
    return models.length > 0 ? [{ dataset, models: inTrialOrder(models) }] : [];
  });
}

/** By trial, in the order of the rows. */
function inTrialOrder(models: readonly UsableModel[]): UsableModel[] {
  const rows = [...new Set(models.map(({ method }) => method))];
  return rows.flatMap((row) => models.filter(({ method }) => method === row).sort((a, b) => a.trialSeed - b.trialSeed));
}

function expectedFrom(held: readonly GroupResult[]): UsableModel["expected"] {
  if (held.length === 0) return null;
  const [worst] = [...held].sort((a, b) => a.choice.test - b.choice.test);
  return { mean: mean(held.map(({ choice }) => choice.test)), lowest: worst.choice.test, domain: worst.testDomain };
}

/** As stored in the run, if the runs with held-out domains are not among those read. */
const estimatedOf = ({ estimate }: StoredRun): Expected | null => (estimate ? expectedOf(estimate.domains) : null);

const percent = (value: number): string => oneDecimal(100 * value);

const EXPECTED =
  "The accuracy on a new domain was estimated with models like it that held out domains: the mean over these domains and the lowest. Plan with the lowest. ";

/** The list as a table; `typed` quotes a folder for a shell command. */
export function modelTable({ dataset, models }: ModelList, typed = shellWord): TextTable {
  const several = new Set(models.map(({ trialSeed }) => trialSeed)).size > 1;
  return {
    title: `${datasetTitle(dataset)}: models to use`,
    words: [
      `Each was trained on all domains. ${models.some(({ expected }) => expected) ? EXPECTED : ""}The validation accuracy is measured on pictures of the training domains that were not used for training. Accuracy in percent.`,
      `Use one with: nudge predict ${models.length === 1 ? typed(models[0].folder) : "FOLDER"} PICTURES. Its mistakes are shown in report.html in its folder.`,
    ],
    head: ["model", ...(several ? ["trial"] : []), "on a new domain", "validation", "folder"],
    rows: models.map(({ title, trialSeed, expected, validation, pictures, folder, done }) => [
      title,
      ...(several ? [String(trialSeed)] : []),
      expected ? `${percent(expected.mean)}, lowest ${percent(expected.lowest)} (${expected.domain})` : "unknown",
      validation === null ? "–" : `${percent(validation)} (${countOf(pictures ?? 0, "picture")})`,
      done ? typed(folder) : `${typed(folder)} (not finished)`,
    ]),
    notes: [],
    align: "left",
  };
}
