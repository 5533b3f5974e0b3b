/** The settings of a run that the user set explicitly. */

import { backboneNamed } from "../backbones/index.js";
import { type GivenKeys, keys, type Request } from "../declared-settings/keys.js";
import { makesRow } from "../declared-settings/meaning.js";
import type { SettingScalar } from "../records/run.js";
import type { TrainSettings } from "./settings.js";

/**
 * The settings that the user set explicitly and that make a run another row of a table, with their values. A value
 * counts even if it equals the default or the draw: otherwise a search in which it is fixed would lose the draws that
 * happen to equal it.
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

/** Whether a backbone has no pretrained weights by default, so that a file of weights is a setting of its own. */
const startsFromNone = ({ backbone }: TrainSettings["request"]): boolean =>
  backboneNamed(backbone as string).weights === undefined;
