/** Checks that each setting of a plan applies to one of its runs at least, so that none is ignored silently. */

import type { Request } from "../settings/keys.js";
import type { Method } from "../settings/method.js";
import { checkUsed, unusedWords, usesSetting } from "../settings/unused.js";

/** Throws a UsageError if a setting applies to no method. Returns notes on methods that settings do not apply to. */
export function checkGivenSettings(given: Request, methods: readonly Method[]): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const without = methods.map(({ algorithm }) => algorithm).filter((each) => !usesSetting(each, name));
    if (without.length === 0 || value === null || value === undefined) return [];
    if (without.length === methods.length) checkUsed(without[0], { [name]: value });
    return [...new Set(without.map((each) => `${name}: ${unusedWords(each, name)}`))];
  });
}
