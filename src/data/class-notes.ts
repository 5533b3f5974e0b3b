/** Notes on classes that are hard to learn or evaluate because of the distribution of their pictures over domains. */

import { classCounts, type Dataset } from "./dataset.js";
import { countOf, listNames, showName } from "./show-name.js";

/**
 * With fewer pictures, of which a fifth is for validation, a class may have none for training or none for validation.
 */
const FEW = 5;

/** Notes on classes that exist in only one domain. */
export function loneClassNotes({ classes, domains }: Pick<Dataset, "classes" | "domains">): string[] {
  if (domains.length < 2) return [];
  const counts = domains.map((domain) => classCounts(domain, classes.length));
  return domains.flatMap(({ name }, d) => {
    const alone = classes.filter((_, c) => counts.every((own, at) => own[c] > 0 === (at === d)));
    if (alone.length === 0) return [];
    const [kind, it] = alone.length === 1 ? ["is a class", "it"] : ["are classes", "them"];
    return [
      `${listNames(alone)} ${kind} of domain "${showName(name)}" only: if that domain is held out, no model can learn ${it}, and all ${it === "it" ? "its" : "their"} pictures count as wrong`,
    ];
  });
}

/** The ratio of picture counts from which a note says that classes are imbalanced. */
const IMBALANCE = 10;

/** A note on classes with very different numbers of pictures, with advice. */
export function imbalanceNotes({ classes, domains }: Pick<Dataset, "classes" | "domains">): string[] {
  const counts = domains.map((domain) => classCounts(domain, classes.length));
  const totals = classes
    .map((name, c) => ({ name, count: counts.reduce((sum, own) => sum + own[c], 0) }))
    .filter(({ count }) => count >= FEW); // another note covers the others
  if (totals.length < 2) return [];
  const most = totals.reduce((a, b) => (b.count > a.count ? b : a));
  const fewest = totals.reduce((a, b) => (b.count < a.count ? b : a));
  if (most.count < IMBALANCE * fewest.count) return [];
  return [
    `the classes are imbalanced: ${countOf(most.count, "picture")} of "${showName(most.name)}", ${fewest.count} of "${showName(fewest.name)}". Rare classes are recognised less often than the accuracy suggests: check the recall of each class, add pictures of the rare ones, or let all classes count the same with classBalanced=true`,
  ];
}

/** A note on classes with too few pictures, if there are any. */
export function smallClassNotes({ classes, domains }: Pick<Dataset, "classes" | "domains">): string[] {
  const counts = domains.map((domain) => classCounts(domain, classes.length));
  const few = classes.flatMap((name, c) => {
    const count = counts.reduce((sum, own) => sum + own[c], 0);
    return count < FEW ? [`"${showName(name)}" (${count})`] : [];
  });
  if (few.length === 0) return [];
  const more = few.length > 5 ? ` and ${few.length - 5} more` : "";
  return [
    `${countOf(few.length, "class", "classes")} with fewer than ${FEW} pictures, too few to train or evaluate on: ${few.slice(0, 5).join(", ")}${more}`,
  ];
}
