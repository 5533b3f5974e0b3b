/**
 * The runs that `nudge train` makes of a request. One where a test domain is named. Where none is, for pictures of one's own or
 * for a probe: one on all domains, whose model is the one to use, and one with each domain held out in turn, which tell
 * what to expect of a domain that no model has seen.
 */

import type { Dataset } from "../data/dataset.js";
import { UsageError } from "../errors.js";
import { isOwnDataset } from "../records/own-pictures.js";
import type { Request } from "../settings/keys.js";
import { SettingsMemo } from "../settings/memo.js";
import { datasetFor, type Plan, resolve } from "../settings/resolve.js";
import { dataNotes } from "./data-notes.js";
import { networkDefaults, ownDefaults, probeOf } from "./defaults.js";

export interface TrainPlans {
  /** The run whose model is wanted. */
  readonly main: Plan;
  /** Runs that each hold out one domain, for an estimate. */
  readonly heldOut: readonly Plan[];
  /** What was chosen, for the person who did not. */
  readonly words: readonly string[];
  /** Whether it is not a run by a benchmark's protocol, whose length its user knows: then it is worth an estimate of time. */
  readonly own: boolean;
}

export interface PlanOptions {
  /** Whether to hold each domain out in turn; where it is not said, for pictures of one's own and for probes. */
  readonly leaveOneOut?: boolean;
  readonly device: string;
}

/** Settles the runs. */
export async function plansFor(asked: Request, { leaveOneOut, device }: PlanOptions): Promise<TrainPlans> {
  const memo = new SettingsMemo();
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
    notes ??= notesOn(settled, holdsOut); // after settling, so that a wrong setting is told at once
    return withNotes(settled, await notes);
  };
  if (asked.testDomains !== undefined || (leaveOneOut === undefined && !own && !probe)) {
    if (leaveOneOut !== undefined)
      throw new UsageError("--leave-one-out is about all domains in turn; leave it out, or --test-domain");
    return { main: await plan(), heldOut: [], words: chosen.words, own: own && !probe };
  }
  const main = await plan([]);
  const names = leaveOneOut !== false && dataset.domains.length > 1 ? dataset.domains.map(({ name }) => name) : [];
  const heldOut: Plan[] = [];
  for (const name of names) heldOut.push(await plan([name]));
  return { main, heldOut, words: [...chosen.words, ...aboutDomains(dataset, heldOut.length)], own: own && !probe };
}

/** A run that goes on, with what its pictures give reason to say. */
export async function planAgain(plan: Plan): Promise<Plan> {
  return withNotes(plan, await notesOn(plan, plan.settings.testDomains.length > 0));
}

/** A plan with the notes on its pictures. */
export const withDataNotes = async (plan: Plan, holdsOut: boolean): Promise<Plan> =>
  withNotes(plan, await notesOn(plan, holdsOut));

async function notesOn({ dataset }: Plan, holdsOut: boolean): Promise<readonly string[]> {
  return isOwnDataset(dataset.id) && dataset.kind === "pictures" ? await dataNotes(dataset, { holdsOut }) : [];
}

const withNotes = (plan: Plan, notes: readonly string[]): Plan => ({
  ...plan,
  dataset: { ...plan.dataset, notes: [...plan.dataset.notes, ...notes] },
});

function aboutDomains({ domains, hasDomains }: Dataset, heldOut: number): string[] {
  if (heldOut > 0)
    return [
      `${heldOut + 1} runs: one on all ${domains.length} domains, whose model is for use, and one with each held out, to know what to expect of a new domain (--no-leave-one-out for the first alone)`,
    ];
  if (domains.length > 1)
    return ["no domain is held out, so nothing will be known of new ones (--leave-one-out tells)"];
  return [
    hasDomains
      ? "there is one domain only, so nothing will be known of others"
      : "the pictures have no domains, only classes, so nothing will be known of domains other than theirs",
  ];
}
