/**
 * Finds, before training, what would make the accuracy of a model on own pictures misleading: the same picture in two
 * domains, a class that only one domain has, a class with one picture. `nudge data inspect` lists all of it; this is
 * the part that is reported in any case. The notes go to the log of the run and to its report.
 */

import { imbalanceNotes, loneClassNotes, smallClassNotes } from "../data/class-notes.js";
import type { PictureDataset } from "../data/dataset.js";
import { type Duplicates, findDuplicates } from "../data/inspect-duplicates.js";
import { type FileFacts, lookAtFiles, type PicturePlace } from "../data/inspect-files.js";
import { nearDuplicatesOf, withoutCopies } from "../data/near-duplicates.js";
import type { SignatureOptions } from "../data/picture-signatures.js";
import { countOf, listNames, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";

export interface NoteOptions {
  /** Notes that matter only with a held-out domain are omitted if there is none. */
  readonly holdsOut: boolean;
  /** Receives the progress of the search for near-duplicates, if there are parts to compare. */
  readonly comparing?: SignatureOptions;
}

/** The notes on a folder. */
export async function dataNotes(dataset: PictureDataset, { holdsOut, comparing }: NoteOptions): Promise<string[]> {
  const facts = await lookAtFiles(dataset);
  for (const [d, { name }] of dataset.domains.entries())
    checkUsable(
      name,
      facts.filter(({ domain }) => domain === d),
    );
  const duplicates = await findDuplicates(dataset.root, facts);
  const { acrossDomains, acrossClasses } = duplicates;
  const torn = facts.filter(({ problem }) => problem?.kind === "truncated").map(({ file }) => file);
  const notes = [...smallClassNotes(dataset), ...imbalanceNotes(dataset)];
  if (holdsOut) notes.push(...loneClassNotes(dataset));
  if (holdsOut && acrossDomains.length > 0)
    notes.push(
      `${countOf(acrossDomains.length, "picture is", "pictures are")} in several domains. The model then sees pictures of the held-out domain in training, and its accuracy there is too high (${example(acrossDomains)})`,
    );
  const labels = (group: readonly PicturePlace[]): number => new Set(group.map(({ label }) => label)).size;
  const mislabelled = [...acrossClasses, ...acrossDomains.filter((group) => labels(group) > 1)];
  if (mislabelled.length > 0)
    notes.push(
      `${countOf(mislabelled.length, "picture is", "pictures are")} in several classes, so at least one label is wrong (${example(mislabelled)})`,
    );
  const alike = withoutCopies(dataset.nearDuplicates ?? [], duplicates);
  if (alike.length > 0)
    notes.push(
      `${countOf(alike.flat().length, "picture is a near-duplicate", "pictures are near-duplicates")} of others in the same class (${countOf(alike.length, "group")}); each group is used either for training or for validation`,
    );
  if (dataset.givenSplit) notes.push(...(await sharedNotes(dataset, duplicates, comparing)));
  if (torn.length > 0)
    notes.push(
      `${countOf(torn.length, "file is", "files are")} truncated; the readable part is used: ${listNames(torn)}`,
    );
  return notes;
}

/** A note on validation pictures that are copies or near-duplicates of training pictures, in a split that was given. */
async function sharedNotes(
  dataset: PictureDataset,
  { acrossDomains, acrossClasses, withinClass }: Duplicates,
  comparing?: SignatureOptions,
): Promise<string[]> {
  const filesOf = (part: "in" | "out"): Set<string> =>
    new Set(dataset.domains.flatMap(({ name, files }) => dataset.givenSplit!.get(name)![part].map((i) => files[i])));
  const [training, validation] = [filesOf("in"), filesOf("out")];
  const copies = [...acrossDomains, ...acrossClasses, ...withinClass].map((group) => group.map(({ file }) => file));
  const groups = [...copies, ...(await nearDuplicatesOf(dataset, comparing))];
  const pairs = new Map<string, string>();
  for (const group of groups) {
    const learnt = group.find((file) => training.has(file));
    if (learnt !== undefined) for (const file of group) if (validation.has(file)) pairs.set(file, learnt);
  }
  if (pairs.size === 0) return [];
  const [[file, learnt]] = pairs;
  return [
    `${countOf(pairs.size, "validation picture is a copy or near-duplicate", "validation pictures are copies or near-duplicates")} of training pictures, so the validation accuracy is too high (${showName(file)} ≈ ${showName(learnt)}); use each group only for training or only for validation`,
  ];
}

/** A domain without a readable picture would otherwise fail at the first batch, with a less helpful message. */
function checkUsable(domain: string, facts: readonly FileFacts[]): void {
  if (facts.some(({ problem }) => problem?.kind !== "unusable")) return;
  const [{ file, problem }] = facts;
  throw new DataError(
    `domain "${showName(domain)}": none of its ${countOf(facts.length, "picture")} can be read (the first, ${showName(file)}: ${problem!.what}); repair them, or move the folder away`,
  );
}

/** The first of several groups of equal pictures. */
function example([group, ...others]: readonly (readonly PicturePlace[])[]): string {
  const names = group.map(({ file }) => `"${showName(file)}"`).join(" = ");
  return others.length > 0 ? `${names}; nudge data inspect lists all` : names;
}
