/** From a preset, a file and options to the runs of a sweep, and the description that the sweep folder stores. */

import { algorithms } from "../algorithms/index.js";
import { type Request, readKeys } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { SettingsMemo } from "../settings/memo.js";
import type { Method } from "../settings/method.js";
import { probeWords, protocols } from "../settings/protocols.js";
import { checkSearched, withoutRanges } from "../settings/search.js";
import type { TrainSettings } from "../settings/settings.js";
import { checkGivenSettings } from "./check-given-settings.js";
import type { CombinationKind } from "./combination-kinds.js";
import { groupsOf } from "./combinations.js";
import { checkKept, type PlanWords } from "./grow-plan.js";
import type { KeptModels } from "./kept-models.js";
import { PlanNotes } from "./plan-notes.js";
import { plannedMethods, planRuns } from "./plan-runs.js";
import { type Preset, presetNamed } from "./presets.js";
import type { PlannedRun } from "./sweep-folder.js";
import { type GivenPart, partsOf, readPart, type SweepPart } from "./sweep-request.js";

/** The request, as data. */
export interface PlanRequest {
  readonly name?: string;
  readonly preset?: string;
  /** Whether to use the seeds and job names of DomainBed. */
  readonly referenceJobs?: boolean;
  /** The models that stay on disk. */
  readonly models?: KeptModels;
  /** The lists and settings of the sweep by name, from a file and from the command line, not yet parsed. */
  readonly given: Request;
}

export interface MadePlan {
  readonly words: PlanWords;
  readonly parts: readonly SweepPart[];
  readonly runs: readonly PlannedRun[];
  /** Notes for the user before the runs are executed. */
  readonly notes: readonly string[];
}

/** Plans a sweep; nothing is written. */
export async function makePlan(request: PlanRequest, onProgress?: (runs: number) => void): Promise<MadePlan> {
  const memo = new SettingsMemo();
  const preset = request.preset === undefined ? undefined : presetNamed(request.preset);
  const notes = new PlanNotes();
  const given = readPart(request.given);
  const left = leftOutOfAll(given);
  const parts = partsFor(preset, given, memo);
  for (const { hparams, settings } of parts)
    if (hparams.every((seed) => seed === 0)) checkSearched(settings, "search with several draws, such as --hparams 20");
  const unused = checkGivenSettings({ ...given.settings, ...given.grid }, plannedMethods(parts, memo));
  const { referenceJobs } = request;
  let untrained = false;
  const onSettled = (run: TrainSettings): void => {
    notes.add(run);
    untrained ||= run.weights === null;
  };
  const runs = await planRuns(parts, { memo, referenceJobs, onProgress, onSettled });
  const combine = requestedCombinations(parts, runs, { referenceJobs, untrained });
  checkKept({ combine, models: request.models });
  if (runs.length === 0) throw new UsageError("nothing to plan: one of the lists is empty");
  const used = new Set(parts.map(({ settings }) => protocolWords(settings)));
  return {
    words: {
      name: request.name ?? preset?.id ?? "sweep",
      protocol: [...(preset ? [`${preset.title}. ${preset.about}`] : []), ...used],
      request,
      ...(combine.length > 0 && { combine }),
      ...(request.models && { models: request.models }),
    },
    parts,
    runs,
    notes: [
      ...(left.length > 0 ? [`all: without ${left.join(", ")}, which a probe cannot train`] : []),
      ...unused,
      ...notes.texts,
    ],
  };
}

/** The requested combinations of the runs of a trial; an error if no trial has two runs. */
function requestedCombinations(
  parts: readonly SweepPart[],
  runs: readonly PlannedRun[],
  { referenceJobs = false, untrained }: { referenceJobs?: boolean; untrained: boolean },
): CombinationKind[] {
  const severalSeeds = parts.some(({ seeds }) => seeds.length > 1);
  if (referenceJobs && severalSeeds)
    throw new UsageError("--seeds: DomainBed gives each of its jobs one seed; remove --reference-jobs or --seeds");
  const kinds = [...new Set(parts.flatMap(({ combine }) => combine))];
  if (untrained && severalSeeds && kinds.some((kind) => kind !== "ensemble"))
    throw new UsageError(
      "--soup: without pretrained weights, runs with several seeds start from different random weights, but averaging needs a common start; combine draws (--hparams 5), or start from pretrained weights",
    );
  if (kinds.length > 0 && groupsOf(runs).length === 0)
    throw new UsageError(
      `${kinds.join(", ")}: no trial has two runs of one method to combine; use more seeds or draws, such as --seeds 3 or --hparams 5`,
    );
  return kinds;
}

function protocolWords(settings: Request): string {
  const { probe, protocol = "domainbed" } = readKeys(withoutRanges(settings));
  return `${probe ? probeWords : protocols[protocol]}.`;
}

/** The algorithms that `all` stands for: with a probe, those that use only the features of the backbone. */
function everyAlgorithm({ settings = {} }: GivenPart): string[] {
  const { probe } = readKeys(withoutRanges(settings));
  return Object.values(algorithms).flatMap(({ id, backbone }) => (probe && backbone ? [] : [id]));
}

/** The titles of the algorithms that `all` excludes. */
function leftOutOfAll(given: GivenPart): string[] {
  if (!given.algorithms?.includes("all")) return [];
  const taken = everyAlgorithm(given);
  return Object.values(algorithms).flatMap(({ id, title }) => (taken.includes(id) ? [] : [title]));
}

/** The parts of a sweep. Methods that are given with a preset select some of its methods, so that each keeps its protocol. */
function partsFor(preset: Preset | undefined, given: GivenPart, memo: SettingsMemo): SweepPart[] {
  const { algorithms: named, ...others } = given;
  const wanted = named?.flatMap((name) => (name === "all" ? everyAlgorithm(given) : [name]));
  if (!preset || !wanted) return partsOf(preset?.parts, { ...others, ...(wanted && { algorithms: wanted }) });
  const keyOf = (algorithm: string): string => methodKey(memo.method({ algorithm }));
  const keys = new Set(wanted.map(keyOf));
  const has = new Set(preset.parts.flatMap((part) => part.algorithms.map(keyOf)));
  const foreign = wanted.find((name) => !has.has(keyOf(name)));
  if (foreign !== undefined)
    throw new UsageError(
      `preset ${preset.id} has no ${foreign}; it has ${preset.parts.flatMap((part) => part.algorithms).join(", ")}. Plan other methods separately, with the same --out`,
    );
  return partsOf(
    preset.parts.map((part) => ({ ...part, algorithms: part.algorithms.filter((name) => keys.has(keyOf(name))) })),
    others,
  ).filter((part) => part.algorithms.length > 0);
}

const methodKey = ({ algorithm, regularizers, averaging }: Method): string =>
  [algorithm, ...regularizers, ...averaging].map(({ id }) => id).join("+");
