/**
 * The words above a table of own pictures, for somebody who trained on them and knows no protocol: what the numbers are of,
 * how sure they are, and how each row was trained. What the program settled is said here, so that rows need not.
 */

import { countOf } from "../data/show-name.js";
import { fixedText, pickFixed } from "../records/fixed-settings.js";
import type { StoredRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";
import { settingsInWords, settingsParts } from "./settings-words.js";

/** More ways of training than this, as of a search, are told in one line for all. */
const MOST_WAYS = 4;

/** Whether the numbers of a dataset, or some of them, are of all pictures of a domain. */
export const isOnWholeDomains = ({ results }: Outcome, dataset: string): boolean =>
  results.some((result) => result.dataset === dataset && result.whole !== undefined);

/** What stands above the table of some folders of pictures. */
export function ownWords(outcome: Outcome, datasets: readonly string[]): string[] {
  return [measureWords(outcome, datasets), ...wayWords(outcome, datasets), ...commonWords(outcome)];
}

function measureWords(outcome: Outcome, datasets: readonly string[]): string {
  if (datasets.every((dataset) => outcome.heldOutOf(dataset).length === 0))
    return isEstimated(outcome, datasets)
      ? "No domain was held out in these runs; what is known of new ones was found by others, and is kept beside the models."
      : "No domain was held out in these runs, so nothing is known of domains that the models have not seen; with two domains or more, `nudge train --leave-one-out` tells.";
  const held = "a domain was held out and never trained on; accuracy in percent";
  const trials = datasets.some((dataset) => outcome.trialsOf(dataset).length > 1)
    ? "the mean over trials ± the standard error (population standard deviation over √trials)"
    : null;
  if (!datasets.some((dataset) => isOnWholeDomains(outcome, dataset)))
    return `Numbers: ${held} on its \`in\` part, all its pictures but those that validation would hold back, so a run's own report, on all of them, may say another number${trials ? `; ${trials}` : ""}.`;
  const spread =
    trials ??
    "in brackets the 95 % interval (Wilson's) that so many pictures leave. Where the intervals of two rows overlap, their difference may be chance: more pictures, or more trials (--trial-seed 1), tell";
  return `Numbers: ${held} on all its pictures (${counts(outcome, datasets)}), as in each run's own report; ${spread}.`;
}

/** Whether a model keeps an estimate. */
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

/** What all runs have alike, and a line for each way that they were trained otherwise, with the rows it is of. */
function wayWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const ways = new Map<string, { parts: readonly string[]; titles: Set<string> }>();
  const all = new Set<StoredRun>();
  for (const { key, title } of outcome.methods)
    for (const stored of datasets.flatMap((dataset) =>
      outcome.runsOf(key, dataset).map((run) => outcome.storedOf(run)),
    )) {
      if (!stored || stored.settings.combination) continue; // a soup is made of runs, and is none
      all.add(stored);
      const parts = settingsParts([stored], { batch: true });
      const way = ways.get(parts.join()) ?? { parts, titles: new Set() };
      ways.set(parts.join(), way);
      way.titles.add(title);
    }
  if (all.size === 0) return [];
  if (ways.size > MOST_WAYS) return [`${countOf(all.size, "run")}: ${settingsInWords([...all])}.`];
  const lists = Array.from(ways.values(), ({ parts }) => parts);
  const alike = lists[0].filter((part) => lists.every((list) => list.includes(part)));
  const apart = Array.from(ways.values(), ({ parts, titles }) => {
    const own = parts.filter((part) => !alike.includes(part));
    return own.length > 0 ? [`${[...titles].join(", ")}: ${own.join(", ")}.`] : [];
  });
  return [...(alike.length > 0 ? [`${countOf(all.size, "run")}: ${alike.join(", ")}.`] : []), ...apart.flat()];
}

/** Settings whose values the other words have. */
const SAID = ["backbone", "pretrained", "probe", "steps", "evaluateEvery", "batchSize", "precision", "holdout"];

function commonWords({ common }: Outcome): string[] {
  const left = fixedText(pickFixed(common, (name) => !SAID.includes(name)));
  return left === "" ? [] : [`The same in all rows: ${left}.`];
}
