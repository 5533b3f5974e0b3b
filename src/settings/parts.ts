/**
 * The parts that a method can have, with the settings that each declares: for errors about a setting of a part that a
 * run does not have, and about a misspelled name after the name of a part.
 */

import { hparamsOn } from "../algorithms/algorithm.js";
import { algorithms } from "../algorithms/index.js";
import { sharedHparams } from "../algorithms/shared-hparams.js";
import { followers } from "../averaging/index.js";
import { unknownName } from "../closest-name.js";
import { groupBy } from "../group-by.js";
import { optimizers, schedules } from "../optim/index.js";
import type { Options } from "../options.js";
import { type AnyRegularizerDefinition, regularizers } from "../regularizers/index.js";
import type { Method } from "./method.js";

/** A part of a method, known by its id. */
export interface Part {
  readonly kind: "algorithm" | "penalty" | "average" | "optimizer" | "schedule";
  readonly id: string;
  readonly title: string;
  /** The names of the settings that it declares. */
  readonly declares: readonly string[];
}

/** The setting that selects a part of each kind, and the plural of the kind. */
const KINDS: Readonly<Record<Part["kind"], { readonly key: string; readonly plural: string }>> = {
  algorithm: { key: "algorithm", plural: "algorithms" },
  penalty: { key: "regularizers", plural: "penalties" },
  average: { key: "averaging", plural: "averages" },
  optimizer: { key: "optimizer", plural: "optimizers" },
  schedule: { key: "schedule", plural: "schedules" },
};

function everyPart(): Part[] {
  const names = (...declared: readonly Options[]): string[] =>
    declared.flatMap((each) =>
      Object.entries(each).flatMap(([name, { formerly }]) => [name, ...(formerly === undefined ? [] : [formerly])]),
    );
  const penalties: readonly AnyRegularizerDefinition[] = Object.values(regularizers);
  return [
    ...Object.values(algorithms).map((each) => ({
      ...{ kind: "algorithm" as const, id: each.id, title: each.title, declares: names(hparamsOn("large", each)) },
    })),
    ...penalties.map(({ id, title, hparams, settings }) => ({
      ...{ kind: "penalty" as const, id, title, declares: names(hparams, settings) },
    })),
    ...Object.values(followers).map(({ id, title, settings }) => ({
      ...{ kind: "average" as const, id, title, declares: names(settings) },
    })),
    ...Object.values(optimizers).map(({ id, title, options }) => ({
      ...{ kind: "optimizer" as const, id, title, declares: names(options) },
    })),
    ...Object.values(schedules).map(({ id, title, options }) => ({
      ...{ kind: "schedule" as const, id, title, declares: names(options) },
    })),
  ];
}

/** The part that the name of a setting begins with, and the rest of the name: `swad.tolerance` is `tolerance` of SWAD. */
export function partIn(name: string): { readonly part: Part; readonly own: string } | undefined {
  const dot = name.indexOf(".");
  const part = dot < 0 ? undefined : everyPart().find(({ id }) => id === name.slice(0, dot));
  return part && { part, own: name.slice(dot + 1) };
}

/** The error for a name that the part before its dot does not declare; undefined if the part declares it. */
export function misspelledIn({ kind, title, declares }: Part, own: string): string | undefined {
  const shared = kind === "algorithm" ? Object.keys(sharedHparams({ dataset: "", size: "large" })) : [];
  if ([...declares, ...shared].includes(own)) return undefined;
  return declares.length > 0 || shared.length > 0
    ? unknownName(`setting of ${title}`, own, [...declares, ...shared])
    : `unknown setting of ${title} "${own}": ${title} has no settings of its own`;
}

/** The error for a setting that other parts declare than those of a method; undefined if there is no such part. */
export function settingOfOthers(name: string, method: Method): string | undefined {
  const found = partIn(name);
  const misspelled = found && misspelledIn(found.part, found.own);
  if (misspelled !== undefined) return misspelled;
  const owners = found ? [found.part] : everyPart().filter(({ declares }) => declares.includes(name));
  if (owners.length === 0) return undefined;
  const byKind = groupBy(owners, ({ kind }) => kind);
  const lists = Array.from(byKind, ([kind, parts]) => {
    const titles = parts.map(({ id, title }) => (kind === "algorithm" ? title : id));
    return kind === "algorithm"
      ? joined(titles)
      : `the ${parts.length === 1 ? kind : KINDS[kind].plural} ${joined(titles)}`;
  });
  const [{ kind, id }] = owners;
  return `${name} is a setting of ${joined(lists)}; this run ${has(kind, method)}. To use ${owners.length === 1 ? "it" : `that of ${id}`}, add ${KINDS[kind].key}=${id}`;
}

/** What a run has instead of another part of a kind: `trains ERM-NU`, `uses the optimizer adam`. */
function has(
  kind: Part["kind"],
  { algorithm, regularizers: penalties, averaging, optimizer, schedule }: Method,
): string {
  if (kind === "optimizer") return `uses the optimizer ${optimizer?.id ?? "adam"}`;
  if (kind === "schedule") return `uses the schedule ${schedule?.id ?? "constant"}`;
  return `trains ${[...averaging, algorithm, ...penalties].map(({ title }) => title).join("-")}`;
}

const joined = (words: readonly string[]): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
