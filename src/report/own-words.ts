/**
 * The text above a table of own pictures, for readers who trained on them and know no protocol: what the numbers are,
 * how certain they are, and how each row was trained. The automatic choices are described here, so that rows need not
 * repeat them.
 */

import { countOf } from "../data/show-name.js";
import { fixedText, pickFixed } from "../records/fixed-settings.js";
import type { StoredRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";
import { settingsInWords, settingsParts } from "./settings-words.js";

/** More ways of training than this, as in a search, are summarized in one line. */
const MOST_WAYS = 4;

/** Whether some numbers of a dataset cover all pictures of a domain. */
export const isOnWholeDomains = ({ results }: Outcome, dataset: string): boolean =>
  results.some((result) => result.dataset === dataset && result.whole !== undefined);

/** The text above the table of some folders of pictures. */
export function ownWords(outcome: Outcome, datasets: readonly string[]): string[] {
  return [measureWords(outcome, datasets), ...wayWords(outcome, datasets), ...commonWords(outcome)];
}

function measureWords(outcome: Outcome, datasets: readonly string[]): string {
  if (datasets.every((dataset) => outcome.heldOutOf(dataset).length === 0))
    return isEstimated(outcome, datasets)
      ? "No domain was held out in these runs. The accuracy on new domains was estimated with other models, which held out domains, and is stored in the folders of these runs."
      : "No domain was held out in these runs, so the accuracy on new domains is unknown; with at least two domains, `nudge train --leave-one-out` estimates it.";
  const held = "accuracy in percent on a held-out domain, which was not used for training, measured";
  const trials = datasets.some((dataset) => outcome.trialsOf(dataset).length > 1)
    ? "the mean over trials ± the standard error (population standard deviation over √trials)"
    : null;
  if (!datasets.some((dataset) => isOnWholeDomains(outcome, dataset)))
    return `Numbers: ${held} on its \`in\` split (without the pictures that would be used for validation). The report of a run covers all pictures and can show another number${trials ? `; ${trials}` : ""}.`;
  const spread =
    trials ??
    "in brackets the 95 % Wilson interval for this number of pictures. If the intervals of two rows overlap, their difference may be chance; use more pictures or more trials (--trial-seed 1) to decide";
  return `Numbers: ${held} on all its pictures (${counts(outcome, datasets)}), as in the report of each run; ${spread}.`;
}

/** Whether a model has a stored estimate. */
const isEstimated = (outcome: Outcome, datasets: readonly string[]): boolean =>
  outcome.runs.some((run) => datasets.includes(run.dataset) && outcome.storedOf(run)?.estimate !== undefined);

function counts(outcome: Outcome, datasets: readonly string[]): string {
  return datasets
    .flatMap((dataset) => outcome.domainsOf(dataset).map((domain) => ({ dataset, domain })))
    .flatMap(({ dataset, domain }) => {
      const found = outcome.results.find(
        (each) => each.dataset === dataset && each.testDomain === domain && each.whole,
      );
      return found ? [`${domain} ${found.whole!.count}`] : [];
    })
    .join(", ");
}

/** What all runs share, and one line for each way of training that differs, with its rows. */
function wayWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const ways = new Map<string, { parts: readonly string[]; titles: Set<string> }>();
  const all = new Set<StoredRun>();
  for (const { key, title } of outcome.methods)
    for (const stored of datasets.flatMap((dataset) =>
      outcome.runsOf(key, dataset).map((run) => outcome.storedOf(run)),
    )) {
      if (!stored || stored.settings.combination) continue; // a soup combines runs and is not a run itself
      all.add(stored);
      const parts = settingsParts([stored], { batch: true });
      const way = ways.get(parts.join()) ?? { parts, titles: new Set() };
      ways.set(parts.join(), way);
      way.titles.add(title);
    }
  if (all.size === 0) return [];
  if (ways.size > MOST_WAYS) return [`${countOf(all.size, "run")}: ${settingsInWords([...all])}.`];
  const lists = Array.from(ways.values(), ({ parts }) => parts);
  const shared = lists[0].filter((part) => lists.every((list) => list.includes(part)));
  const apart = Array.from(ways.values(), ({ parts, titles }) => {
    const own = parts.filter((part) => !shared.includes(part));
    return own.length > 0 ? [`${[...titles].join(", ")}: ${own.join(", ")}.`] : [];
  });
  return [...(shared.length > 0 ? [`${countOf(all.size, "run")}: ${shared.join(", ")}.`] : []), ...apart.flat()];
}

/** Settings whose values are in the other sentences. */
const SAID = ["backbone", "pretrained", "probe", "steps", "evaluateEvery", "batchSize", "precision", "holdout"];

function commonWords({ common }: Outcome): string[] {
  const left = fixedText(pickFixed(common, (name) => !SAID.includes(name)));
  return left === "" ? [] : [`Equal in all rows: ${left}.`];
}
