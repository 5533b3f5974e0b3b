/** Checks that each setting of a plan applies to one of its runs at least, so that none is ignored silently. */

import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { Method } from "../settings/method.js";
import { misspelledIn, partIn } from "../settings/parts.js";
import { checkUsed, unusedWords, usesSetting } from "../settings/unused.js";
import { concerns } from "./plan-runs.js";

/** Throws a UsageError if a setting applies to no method. Returns notes on methods that settings do not apply to. */
export function checkGivenSettings(given: Request, methods: readonly Method[]): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    checkPart(name, methods);
    const without = methods.map(({ algorithm }) => algorithm).filter((each) => !usesSetting(each, name));
    if (without.length === 0 || value === null || value === undefined) return [];
    if (without.length === methods.length) checkUsed(without[0], { [name]: value });
    return [...new Set(without.map((each) => `${name}: ${unusedWords(each, name)}`))];
  });
}

/** A setting with a prefix must be one that the part declares, and one of the runs must have the part. */
function checkPart(name: string, methods: readonly Method[]): void {
  const found = partIn(name);
  if (!found) return;
  const { part, own } = found;
  const misspelled = misspelledIn(part, own);
  if (misspelled !== undefined) throw new UsageError(misspelled);
  if (methods.some((method) => concerns(name, method))) return;
  throw new UsageError(
    `${name} applies to none of the planned runs, because none of them has ${part.title}; remove it, or plan ${part.title} too (--${part.kind === "penalty" ? `regularizers ${part.id}` : `algorithms ${part.title}`})`,
  );
}
