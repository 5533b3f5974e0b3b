/** The runs of a plan in the form that processes need to execute them: a hundred thousand take some tens of megabytes. */

import { UsageError } from "../errors.js";
import type { StoredFiles } from "../files/stored-files.js";
import { planLines, type RunRequest } from "./sweep-folder.js";

/** A run of a plan. Its request is stored as text and parsed when it is needed. */
export class ListedRun {
  constructor(
    readonly id: string,
    readonly name: string,
    readonly title: string,
    readonly dataset: string | undefined,
    readonly cost: number | undefined,
    /** A short text that runs on the same samples with the same code share. */
    readonly facts: string | undefined,
    private readonly requestText: string,
  ) {}

  get request(): RunRequest {
    return JSON.parse(this.requestText) as RunRequest;
  }
}

/** All runs of a sweep, in the order of the plan. */
export function readRunList(place: string | StoredFiles): ListedRun[] {
  return Array.from(
    planLines(place),
    ({ id, name, title, dataset, cost, facts, request }) =>
      new ListedRun(id, name, title, dataset, cost, facts, JSON.stringify(request)),
  );
}

/** The minimum number of digits of an abbreviated id. */
const SHORTEST = 4;

/** The runs with these names. A name is an id, its first digits, or the name of a run folder. */
export function namedRuns<T extends { readonly id: string; readonly name: string }>(
  runs: readonly T[],
  words: readonly string[],
): T[] {
  return words.map((word) => {
    const digits = /^[0-9a-f]+/.exec(word)?.[0] ?? "";
    if (digits.length < SHORTEST)
      throw new UsageError(
        `run "${word}": expected at least the first ${SHORTEST} characters of a run id, as printed by nudge sweep status`,
      );
    const found = runs.filter(({ id, name }) => id.startsWith(word) || name === word);
    if (found.length === 0) throw new UsageError(`run "${word}": no run of the plan has an id that starts with this`);
    if (found.length > 1) {
      const ids = found.slice(0, 3).map(({ id }) => id);
      throw new UsageError(
        `run "${word}": ${found.length} runs start with this (${ids.join(", ")}${found.length > 3 ? ", …" : ""}); use more characters`,
      );
    }
    return found[0];
  });
}
