/**
 * The models to use: of own pictures, the runs that were trained on all domains. What they will do on a domain they have not
 * seen is the row of the same name in the table above; what they do on new pictures of their own domains stands here.
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

/** A run trained on all domains of a folder. */
export interface UsableModel {
  /** As its row in the table is called. */
  readonly title: string;
  /** As `methodKey` writes it. */
  readonly method: string;
  readonly trialSeed: number;
  readonly folder: string;
  readonly done: boolean;
  /** What runs like it found on domains they had not seen: the mean and the lowest; null where no domain was held out. */
  readonly expected: Expected | null;
  /** The mean accuracy on validation pictures of its domains, a fraction, and how many there are; null before it was assessed. */
  readonly validation: number | null;
  readonly pictures: number | null;
}

/** Those of one folder of pictures. */
export interface ModelList {
  readonly dataset: string;
  readonly models: readonly UsableModel[];
}

/** The models there are, by dataset; none of benchmarks, where no run is trained on all domains for use. */
export function modelLists(outcome: Outcome): ModelList[] {
  if (outcome.selection.id !== trainingDomain.id) return []; // another rule says nothing of the models that runs keep
  return outcome.datasets.flatMap((dataset) => {
    if (!outcome.isOwnData(dataset)) return [];
    const models = outcome.methods.flatMap(({ key, title, method }) =>
      outcome.runsOf(key, dataset).flatMap((run): UsableModel[] => {
        const stored = outcome.storedOf(run);
        if (!stored || run.testDomains.length > 0) return [];
        const { folder, done, assessment } = stored;
        if (assessment && assessment.model !== method.model) return []; // the run's model is its average
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

/** As the run keeps it, where the runs it was found by are not among those read. */
const estimatedOf = ({ estimate }: StoredRun): Expected | null => (estimate ? expectedOf(estimate.domains) : null);

const percent = (value: number): string => oneDecimal(100 * value);

const EXPECTED =
  "What to expect of it on a new one was found by runs like it that each held one domain out: the mean, and the lowest, which is the one to plan with. ";

/** The list as a table; `typed` writes a folder as a word of a shell command. */
export function modelTable({ dataset, models }: ModelList, typed = shellWord): TextTable {
  const several = new Set(models.map(({ trialSeed }) => trialSeed)).size > 1;
  return {
    title: `${datasetTitle(dataset)}: models to use`,
    words: [
      `Each was trained on all domains. ${models.some(({ expected }) => expected) ? EXPECTED : ""}Validation is on held-back pictures of the domains it was trained on. Accuracy in percent.`,
      `Use one with: nudge predict ${models.length === 1 ? typed(models[0].folder) : "FOLDER"} PICTURES. What it gets wrong is in report.html in its folder.`,
    ],
    head: ["model", ...(several ? ["trial"] : []), "on a new domain", "validation", "folder"],
    rows: models.map(({ title, trialSeed, expected, validation, pictures, folder, done }) => [
      title,
      ...(several ? [String(trialSeed)] : []),
      expected ? `${percent(expected.mean)}, lowest ${percent(expected.lowest)} (${expected.domain})` : "not known",
      validation === null ? "–" : `${percent(validation)} (${countOf(pictures ?? 0, "picture")})`,
      done ? typed(folder) : `${typed(folder)} (not finished)`,
    ]),
    notes: [],
    align: "left",
  };
}
