/**
 * Determines which settings of a run the user set explicitly, for sweeps that were planned by earlier versions. Their plans
 * contain every value of a run, but not which values were given. The requests of the sweep contain that.
 */

import { hparamName } from "../algorithms/shared-hparams.js";
import { keys } from "../declared-settings/keys.js";
import { makesRow } from "../declared-settings/meaning.js";
import type { FixedSettings, SettingScalar } from "../records/fixed-settings.js";
import type { RunSettings } from "../records/run.js";
import { presets } from "./presets.js";
import type { RunRequest } from "./sweep-folder.js";
import { partsOf, readPart, type SweepPart } from "./sweep-request.js";

export class FixedByHand {
  private readonly parts: readonly SweepPart[];

  /** `requests` are the requests in `sweep.json`. */
  constructor(requests: readonly unknown[]) {
    this.parts = requests.flatMap((each) => requestedParts(each as StoredRequest));
  }

  /** Whether the sweep searches hyperparameters. */
  get isSearch(): boolean {
    return this.parts.some(({ hparams }) => hparams.some((seed) => seed > 0));
  }

  /** The names of the explicit settings of a run; undefined if no request of the sweep includes the run. */
  namesIn(request: RunRequest): readonly string[] | undefined {
    const found = this.parts.flatMap((part) => {
      const names = namesBy(part, request);
      return names ? [names] : [];
    });
    // Several parts can include a run. The part with the most explicit settings distinguishes it.
    return found.reduce<readonly string[] | undefined>(
      (most, names) => (most && most.length >= names.length ? most : names),
      undefined,
    );
  }

  /** The explicit settings of a planned run; undefined if no request of the sweep includes the run. */
  fixedIn(request: RunRequest): FixedSettings | undefined {
    const names = (request.fixed as readonly string[] | undefined) ?? this.namesIn(request);
    const nameOf = (name: string): string =>
      name.includes(".") || Object.hasOwn(keys, name) ? name : hparamName(name, String(request.algorithm));
    const fixed = names?.filter(makesRow).map((name) => [nameOf(name), request[name] as SettingScalar] as const);
    return fixed && Object.fromEntries(fixed);
  }

  /** The settings of a run with its explicit settings. Earlier versions stored only those that differ from the run's own draw. */
  settingsOf<S extends RunSettings>(settings: S): S {
    if (settings.given === undefined || !this.isSearch) return settings;
    const { request = {} } = settings as { readonly request?: RunRequest };
    return { ...settings, fixed: this.fixedIn(request) ?? settings.fixed };
  }
}

interface StoredRequest {
  readonly preset?: string;
  readonly given?: Readonly<Record<string, unknown>>;
}

function requestedParts(request: StoredRequest | null): SweepPart[] {
  try {
    return partsOf(presets[request?.preset ?? ""]?.parts, readPart(request?.given ?? {}));
  } catch {
    return []; // in a format that this version does not read
  }
}

function namesBy({ data, trials, hparams, settings, grid }: SweepPart, request: RunRequest): string[] | undefined {
  const isOfPart =
    data.includes(String(request.data)) &&
    trials.includes(Number(request.trialSeed ?? 0)) &&
    hparams.includes(Number(request.hparamsSeed ?? 0));
  if (!isOfPart) return undefined;
  const names: string[] = [];
  for (const [name, given] of Object.entries({ ...settings, ...grid })) {
    const owners = [request.algorithm, request.regularizers, request.averaging].flat() as readonly string[];
    const known = [name, ...owners.map((owner) => `${owner}.${name}`)].find((each) => request[each] !== undefined);
    const values: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (known === undefined && name.includes(".")) continue; // a setting of another method
    if (known === undefined || !values.some((value) => isAlike(value, request[known]))) return undefined;
    names.push(known);
  }
  return names;
}

const isAlike = (given: unknown, actual: unknown): boolean =>
  String(given) === String(actual) || Number(given) === Number(actual);
