/** What the declarations of settings mean together: which are searched, may move, and are part of the id of a run. */

import type { Option } from "../options.js";
import { type KeyName, keys } from "./keys.js";

/** A declared setting of a run, with its place in `settings.json`. */
export type DeclaredSetting = Option & {
  readonly stored: (typeof keys)[KeyName]["stored"];
  readonly before?: unknown;
  readonly names?: true;
};

/** The declared settings by name. */
export const declared: Readonly<Record<string, DeclaredSetting>> = keys;

const namesOf = (pick: (setting: DeclaredSetting) => unknown): readonly string[] =>
  Object.keys(declared).filter((name) => Boolean(pick(declared[name])));

/** Settings other than hyperparameters and options of plug-ins that a search can draw. */
export const searchedKeys = namesOf(({ searched }) => searched);

/** Settings that a resumed run can have with another value. */
export const movableKeys = namesOf(({ moves }) => moves);

/** Settings of the machine that executes a run. A plan stores only given ones, because the machine may be another one. */
export const machineKeys: ReadonlySet<string> = new Set(namesOf(({ machine }) => machine));

/**
 * What `settings.json` has besides the declared settings and what follows from them. It is not part of the id of a run.
 * Of `allDomains`, those that are left are hashed as `domains`.
 */
const BESIDES: ReadonlySet<string> = new Set([
  ...["format", "hash", "fixed", "given", "request", "facts", "base"],
  "allDomains",
]);

/** Whether an entry of `settings.json` is part of the id of a run. What is not declared is. */
export const isHashed = (name: string): boolean =>
  Object.hasOwn(declared, name) ? declared[name].unhashed === undefined : !BESIDES.has(name);

/** The value that a setting of a run has if `settings.json` does not have it; null if there is none. */
export function valueIfAbsent(name: string): unknown {
  const { before, stored, default: usual } = declared[name];
  return before ?? (stored === "unless default" ? usual : null) ?? null;
}
