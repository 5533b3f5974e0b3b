/**
 * The runs that `nudge train` executes for a request. If a test domain is named, there is one run. If not, for own
 * pictures or a probe, there is one run on all domains, whose model is the final one, and one run with each domain held
 * out in turn, to estimate the accuracy on new domains.
 */

import type { Dataset } from "../data/dataset.js";
import type { SignatureOptions } from "../data/picture-signatures.js";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { SettingsMemo } from "../settings/memo.js";
import { datasetFor, type Plan, resolve } from "../settings/resolve.js";
import { dataNotes, type NoteOptions } from "./data-notes.js";
import { networkDefaults, ownDefaults, probeOf } from "./defaults.js";

export interface TrainPlans {
  /** The run that trains the final model. */
  readonly main: Plan;
  /** Runs that hold out one domain each, for the estimate. */
  readonly heldOut: readonly Plan[];
  /** The automatic choices, as text for the user. */
  readonly words: readonly string[];
  /** Whether the run does not follow the protocol of a benchmark: then the time is estimated first. */
  readonly own: boolean;
}

export interface PlanOptions {
  /** Whether to hold out each domain in turn. By default this is done for own pictures and for probes. */
  readonly leaveOneOut?: boolean;
  readonly device: string;
  /** Receives the progress of the search for near-duplicates. */
  readonly comparing?: SignatureOptions;
}

/** Resolves the runs. */
export async function plansFor(asked: Request, { leaveOneOut, device, comparing }: PlanOptions): Promise<TrainPlans> {
  const memo = new SettingsMemo(comparing);
  const dataset = await datasetFor(asked, memo);
  const own = isOwnDataset(dataset.id);
  const probe = probeOf(asked) !== false;
  const words: string[] = [];
  const chosen = own
    ? ownDefaults(dataset, asked, device)
    : { request: probe ? networkDefaults(asked, words, device) : {}, words };
  const request: Request = { device, ...chosen.request, ...asked };
  const holdsOut = asked.testDomains !== undefined || (leaveOneOut !== false && dataset.domains.length > 1);
  let notes: Promise<readonly string[]> | undefined;
  const plan = async (testDomains?: readonly string[]): Promise<Plan> => {
    const settled = await resolve(testDomains ? { ...request, testDomains } : request, memo);
    notes ??= notesOn(settled, { holdsOut, comparing }); // after resolving, so that a wrong setting is reported first
    return withNotes(settled, await notes);
  };
  if (asked.testDomains !== undefined || (leaveOneOut === undefined && !own && !probe)) {
    if (leaveOneOut !== undefined)
      throw new UsageError(
        `${leaveOneOut ? "--leave-one-out holds out all domains in turn" : "--no-leave-one-out trains on all domains"} ` +
          "and cannot be combined with --test-domain",
      );
    return { main: await plan(), heldOut: [], words: chosen.words, own: own && !probe };
  }
  const main = await plan([]);
  const names = leaveOneOut !== false && dataset.domains.length > 1 ? dataset.domains.map(({ name }) => name) : [];
  const heldOut: Plan[] = [];
  for (const name of names) heldOut.push(await plan([name]));
  return { main, heldOut, words: [...chosen.words, ...aboutDomains(dataset, heldOut.length)], own: own && !probe };
}

/** A resumed run, with the notes on its pictures. */
export const planAgain = (plan: Plan, comparing?: SignatureOptions): Promise<Plan> =>
  withDataNotes(plan, { holdsOut: plan.settings.testDomains.length > 0, comparing });

/** A plan with the notes on its pictures. */
export const withDataNotes = async (plan: Plan, options: NoteOptions): Promise<Plan> =>
  withNotes(plan, await notesOn(plan, options));

async function notesOn({ dataset }: Plan, options: NoteOptions): Promise<readonly string[]> {
  return isOwnDataset(dataset.id) && dataset.kind === "pictures" ? await dataNotes(dataset, options) : [];
}

const withNotes = (plan: Plan, notes: readonly string[]): Plan => ({
  ...plan,
  dataset: { ...plan.dataset, notes: [...plan.dataset.notes, ...notes] },
});

function aboutDomains({ domains, hasDomains }: Dataset, heldOut: number): string[] {
  if (heldOut > 0)
    return [
      `${heldOut + 1} runs: one on all ${domains.length} domains for the final model, and one with each domain held out, to estimate the accuracy on new domains (use --no-leave-one-out for only the first)`,
    ];
  if (domains.length > 1)
    return [
      "no domain is held out, so the accuracy on new domains will not be estimated (use --leave-one-out to estimate it)",
    ];
  return [
    hasDomains
      ? "there is only one domain, so the accuracy on other domains cannot be estimated"
      : "the folders contain classes but no domains, so the accuracy on new domains cannot be estimated",
  ];
}
