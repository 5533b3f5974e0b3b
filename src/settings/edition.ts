/**
 * Runs with the same settings and other facts: after a file that a plug-in imports was edited, or on another copy of a
 * dataset. Their id would be the same, so a later one takes an id that also depends on its facts.
 */

import { DataError } from "../errors.js";
import { canonicalJson, textHash } from "../files/canonical-json.js";
import { areSameFacts, factsChange, factsDigest, type RunFacts } from "../records/facts.js";
import { siblingHash, type TrainSettings } from "./settings.js";

/** The id of a run with these facts, if another run already has the id of its settings. */
export const editionId = (base: string, digest: string): string => textHash(canonicalJson({ base, facts: digest }));

/** The settings of a run under an id that also depends on its facts. */
export function asEdition<S extends TrainSettings>(settings: S): S {
  const { hash, facts } = settings;
  return facts ? { ...settings, hash: editionId(hash, factsDigest(facts)), base: hash } : settings;
}

/** The id that the settings of a run give. */
export function idOf(settings: TrainSettings): string {
  const { facts, base } = settings;
  const id = siblingHash(settings)(settings);
  return base !== undefined && facts ? editionId(id, factsDigest(facts)) : id;
}

/**
 * The plan of a run whose folder is not taken by a run with other facts, and a note if it is another folder than that of
 * its settings. `factsAt` reads the facts of the run in the folder of some settings; undefined if there is none.
 */
export function withOwnFolder<P extends { readonly settings: TrainSettings }>(
  plan: P,
  factsAt: (settings: TrainSettings) => RunFacts | undefined,
): { readonly plan: P; readonly note?: string } {
  const { settings } = plan;
  const before = factsAt(settings);
  if (!before || !settings.facts || areSameFacts(before, settings.facts)) return { plan };
  const change = factsChange(before, settings.facts);
  return {
    plan: { ...plan, settings: asEdition(settings) },
    note: `there is a run with these settings, and these have changed since: ${change}. The new run has a folder of its own`,
  };
}

/** Refuses to resume or reuse a run whose samples or code have changed since it began. */
export function checkFacts(folder: string, before: RunFacts | undefined, now: RunFacts | undefined): void {
  if (before && now && !areSameFacts(before, now))
    throw new DataError(
      `${folder}: these have changed since the run began: ${factsChange(before, now)}. Restore them to resume it, or train again in another folder`,
    );
}
