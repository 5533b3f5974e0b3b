/** The algorithms there are; a new one is a file and a line here. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { AlgorithmDefinition } from "./algorithm.js";
import { erm } from "./erm.js";

/** Algorithms by id. */
export const algorithms: Readonly<Record<string, AlgorithmDefinition>> = {
  erm,
};

/** An algorithm by id or title, in any case; an unknown one is an error that names the nearest. */
export function algorithmNamed(name: string): AlgorithmDefinition {
  const wanted = name.toLowerCase();
  const found = Object.values(algorithms).find(({ id, title }) => id === wanted || title.toLowerCase() === wanted);
  if (!found) throw new UsageError(unknownName("algorithm", name, Object.keys(algorithms)));
  return found;
}
