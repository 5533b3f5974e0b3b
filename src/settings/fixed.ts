/** What was set by hand in a run. */

import { backboneNamed } from "../backbones/index.js";
import type { SettingScalar } from "../records/run.js";
import { type GivenKeys, keys, makesRow, type Request } from "./keys.js";
import type { TrainSettings } from "./settings.js";

/**
 * What was set by hand and makes a run another row, with the values that it has. A value counts whatever the default or the
 * draw in its place would have been: otherwise a search in which it is fixed would lose the draws that happen to be like it.
 */
export function fixedIn(
  asked: Request,
  given: GivenKeys,
  { request, hparams }: { request: TrainSettings["request"]; hparams: ReadonlyMap<string, string> },
): TrainSettings["fixed"] {
  const nameOf = (name: string): string | undefined => {
    if (name === "weights") return startsFromNone(request) ? "pretrained" : undefined;
    return Object.hasOwn(keys, name) || name.startsWith("data.") ? name : hparams.get(name);
  };
  const byHand = given.fixed && new Set(given.fixed);
  const names = new Set<string>();
  for (const name in asked) {
    const known = (asked[name] ?? null) === null ? undefined : nameOf(name);
    if (known !== undefined && (!byHand || byHand.has(name) || byHand.has(known))) names.add(known);
  }
  const fixed: Record<string, SettingScalar> = {};
  for (const name in request) if (names.has(name) && makesRow(name)) fixed[name] = request[name] as SettingScalar;
  return fixed;
}

/** Whether a backbone usually starts from no trained weights, so that a file of them is a setting of its own. */
const startsFromNone = ({ backbone }: TrainSettings["request"]): boolean =>
  backboneNamed(backbone as string).weights === undefined;
