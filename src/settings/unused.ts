/** Shared hyperparameters that an algorithm does not use. Setting one is an error, because it would have no effect. */

import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";

/** Whether an algorithm uses a setting. The name can have the algorithm as a prefix: `dann.lr`. */
export const usesSetting = ({ id, unused = {} }: AlgorithmDefinition, name: string): boolean =>
  !Object.hasOwn(unused, ownName(id, name));

/** What the algorithm does with a setting that it does not use: `DANN does not use lr; it has lrG and lrD`. */
export function unusedWords({ id, title, unused = {} }: AlgorithmDefinition, name: string): string {
  const own = ownName(id, name);
  const instead = unused[own] ?? [];
  return `${title} does not use ${own}${instead.length > 0 ? `; it has ${instead.join(" and ")} instead` : ""}`;
}

/** Refuses settings that the user set and that the algorithm does not use. Drawn and default values are no error. */
export function checkUsed(algorithm: AlgorithmDefinition, given: Request): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || usesSetting(algorithm, name)) continue;
    const [first] = algorithm.unused?.[ownName(algorithm.id, name)] ?? [];
    const next = first === undefined ? `remove ${name}` : `set those, such as ${first}=${String(value)}`;
    throw new UsageError(`${name}: ${unusedWords(algorithm, name)}: ${next}`);
  }
}

const ownName = (id: string, name: string): string => (name.startsWith(`${id}.`) ? name.slice(id.length + 1) : name);
