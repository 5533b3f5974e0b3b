/**
 * Methods as points of a study of weights: which of them differ only in the penalty, and how strong each penalty is, on
 * a scale that `scaling=per-sample` and `scaling=sum` share.
 */

import { groupBy } from "../group-by.js";
import { type FixedSettings, fixedText, fixedWord, pickFixed } from "../records/fixed-settings.js";
import { CURRENT } from "../records/index.js";
import type { PluginSettings } from "../records/run.js";
import type { GroupResult } from "../selection/index.js";
import { besidesPenalties } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";

const DECAY = "weightDecay";

/** A method as a point of a study. */
export interface Member {
  readonly reported: ReportedMethod;
  /** Empty for the method without a penalty. */
  readonly kind: string;
  readonly penalty: string;
  /** The other explicit settings. */
  readonly rest: FixedSettings;
}

/** Methods that differ only in their penalty or weight decay, by algorithm and all other settings. */
export function familiesOf({ methods }: Outcome): Map<string, Member[]> {
  const members = methods.flatMap((reported) => memberOf(reported) ?? []);
  return groupBy(members, ({ reported, rest }) => JSON.stringify([reported.method.algorithm, fixedText(rest)]));
}

/** Null for averages, for two penalties at once, and for a penalty with weight decay. */
function memberOf(reported: ReportedMethod): Member | null {
  const { model, regularizers: penalties, fixed } = reported.method;
  if (model !== CURRENT || penalties.length > 1) return null;
  const [penalty] = penalties;
  const { [DECAY]: decay, ...rest } = besidesPenalties(reported.method);
  const decays = decay !== undefined;
  if (decays && penalty !== undefined) return null;
  if (penalty === undefined)
    return decays
      ? { reported, kind: "weight decay", penalty: DECAY, rest }
      : { reported, kind: "", penalty: "", rest };
  const own = pickFixed(fixed, (name) => name.startsWith(`${penalty}.`) && name !== `${penalty}.weight`);
  const words = Object.entries(own).map(([name, value]) => fixedWord(name.slice(penalty.length + 1), value));
  return { reported, kind: [penalty, ...words.sort()].join(" "), penalty, rest };
}

/** A member with what selection chose of it. */
export interface Weighed extends Member {
  readonly weight: number;
  readonly perSample: number | null;
  readonly rows: number | null;
  readonly results: readonly GroupResult[];
}

/** Null if the method has no single weight, as in a random search, or has failed. */
export function weigh(outcome: Outcome, dataset: string, member: Member): Weighed | null {
  const results = outcome.resultsOf(member.reported.key, dataset);
  const scales = results.map(({ choice }) => {
    const settings = outcome.storedOf(choice.run)?.settings;
    if (!settings || member.kind === "") return JSON.stringify({ weight: 0, perSample: 0, rows: null });
    if (member.penalty === DECAY)
      return JSON.stringify({ weight: Number(settings.hparams[DECAY]), perSample: null, rows: null });
    const penalty = settings.regularizers.find(({ id }) => id === member.penalty);
    const training = settings.domains.length - settings.testDomains.length;
    const batch = Number(settings.hparams.batchSize) * (ONE_DOMAIN.has(settings.algorithm) ? 1 : training);
    return JSON.stringify(scaleOf(penalty?.settings ?? {}, batch));
  });
  if (new Set(scales).size !== 1 || results.some(({ choice }) => !Number.isFinite(choice.test))) return null;
  const scale = JSON.parse(scales[0]) as Pick<Weighed, "weight" | "perSample" | "rows">;
  return scale.weight > 0 || member.kind === "" ? { ...member, ...scale, results } : null;
}

/** Algorithms whose losses, and so the penalties on them, cover the rows of one domain or of one mixed pair each. */
const ONE_DOMAIN: ReadonlySet<string> = new Set(["and-mask", "fish", "mixup", "mldg"]);

function scaleOf(
  { weight, scaling }: PluginSettings["settings"],
  batch: number,
): Pick<Weighed, "weight" | "perSample" | "rows"> {
  const given = Number(weight);
  if (scaling === "per-sample") return { weight: given, perSample: given, rows: null };
  if (scaling !== "sum" || !Number.isFinite(batch)) return { weight: given, perSample: null, rows: null };
  return { weight: given, perSample: Number((given * batch).toPrecision(12)), rows: batch };
}
