/**
 * What would make the figures of a model from one's own pictures mean something else than they seem to, found before training
 * by a look at every file: the same picture in two domains, a class that one domain alone has, a class of one picture.
 * `nudge data inspect` names all of it; who does not ask is told so much. The notes go to the run's log and to its report.
 */

import { imbalanceNotes, loneClassNotes, smallClassNotes } from "../data/class-notes.js";
import type { PictureDataset } from "../data/dataset.js";
import { findDuplicates } from "../data/inspect-duplicates.js";
import { type FileFacts, lookAtFiles, type PicturePlace } from "../data/inspect-files.js";
import { countOf, listNames, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";

/** The notes on a folder; what matters only where a domain is held out is left away where none is. */
export async function dataNotes(dataset: PictureDataset, { holdsOut }: { holdsOut: boolean }): Promise<string[]> {
  const facts = await lookAtFiles(dataset);
  for (const [d, { name }] of dataset.domains.entries())
    checkUsable(
      name,
      facts.filter(({ domain }) => domain === d),
    );
  const { acrossDomains, acrossClasses } = await findDuplicates(dataset.root, facts);
  const torn = facts.filter(({ problem }) => problem?.kind === "truncated").map(({ file }) => file);
  const notes = [...smallClassNotes(dataset), ...imbalanceNotes(dataset)];
  if (holdsOut) notes.push(...loneClassNotes(dataset));
  if (holdsOut && acrossDomains.length > 0)
    notes.push(
      `${countOf(acrossDomains.length, "picture is", "pictures are")} in several domains, so a model has seen some of the domain it is to know nothing of, and its accuracy there is too good (${example(acrossDomains)})`,
    );
  const labels = (group: readonly PicturePlace[]): number => new Set(group.map(({ label }) => label)).size;
  const mislabelled = [...acrossClasses, ...acrossDomains.filter((group) => labels(group) > 1)];
  if (mislabelled.length > 0)
    notes.push(
      `${countOf(mislabelled.length, "picture is", "pictures are")} in several classes: one label is wrong (${example(mislabelled)})`,
    );
  if (torn.length > 0)
    notes.push(`${countOf(torn.length, "file ends", "files end")} early, read as far as possible: ${listNames(torn)}`);
  return notes;
}

/** A domain without one picture that can be read would be found out by the first batch, in other words. */
function checkUsable(domain: string, facts: readonly FileFacts[]): void {
  if (facts.some(({ problem }) => problem?.kind !== "unusable")) return;
  const [{ file, problem }] = facts;
  throw new DataError(
    `domain "${showName(domain)}": none of its ${countOf(facts.length, "picture")} can be read (the first, ${showName(file)}: ${problem!.what}); mend them, or move the folder away`,
  );
}

/** The first of some groups of equal pictures. */
function example([group, ...others]: readonly (readonly PicturePlace[])[]): string {
  const names = group.map(({ file }) => `"${showName(file)}"`).join(" = ");
  return others.length > 0 ? `${names}; nudge data inspect names all` : names;
}
