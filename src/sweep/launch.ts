/** `nudge sweep run`: combines the folder of a sweep, a launcher, and progress messages. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DONE_FILE } from "../records/run.js";
import { cancelToken } from "./cancel-marks.js";
import { Claims } from "./claim.js";
import { combineHere } from "./combine-here.js";
import type { StopWish } from "./controller.js";
import { Follow } from "./follow.js";
import type { LaunchContext, LaunchEnd, Launcher } from "./launchers/index.js";
import { namedRuns, readRunList } from "./run-list.js";
import { checkSweepPlaces, readSweepFile, sweepPaths } from "./sweep-folder.js";
import { fixedThreads, fixThreads } from "./sweep-threads.js";
import type { WorkRules } from "./work.js";

export interface LaunchOptions {
  readonly folder: string;
  readonly launcher: Launcher;
  /** The options of the launcher, not yet parsed. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly rules: WorkRules;
  /** The command that starts `nudge`. */
  readonly program: readonly string[];
  readonly device?: string;
  /** The threads of runs that this launch starts (default: those of the sweep). */
  readonly threads?: number;
  readonly most: number | null;
  readonly stay: boolean;
  readonly stop: StopWish;
  readonly say: (line: string) => void;
  readonly print: (line: string) => void;
}

export interface Launched {
  readonly end: LaunchEnd;
  /** The number of requested runs, and of those that are done. */
  readonly runs: number;
  readonly done: number;
}

/** Launches the missing runs of a sweep. */
export async function launch(options: LaunchOptions): Promise<Launched> {
  const { launcher, rules, program, device, most, stay, stop, say, print } = options;
  const folder = resolve(options.folder);
  const { name } = readSweepFile(folder);
  checkSweepPlaces(folder);
  const all = readRunList(folder);
  const runs = rules.only ? namedRuns(all, rules.only) : all;
  const paths = sweepPaths(folder);
  const countDone = (): number => runs.filter((run) => existsSync(join(paths.run(run.name), DONE_FILE))).length;
  const done = countDone();
  const follow = new Follow(runs, done, say);
  const combine = (): Promise<void> =>
    combineHere({
      ...{ folder, program, device, stop, threads: options.threads ?? fixedThreads(folder) ?? 1 },
      onEvent: (event, slot) => follow.report(event, slot),
    });
  const count = runs.length === 1 ? "1 run" : `${runs.length} runs`;
  say(`${count} in ${options.folder}, ${done} done`);
  if (done === runs.length) {
    await combine();
    return { end: "settled", runs: runs.length, done };
  }
  if (done === 0 && String(runs[0].request.probe) === "true")
    say("probes share the features of the pictures: the first run computes the missing ones while the others wait");
  const context: LaunchContext = {
    folder,
    name,
    runs,
    rules: { ...rules, only: rules.only && runs.map(({ id }) => id) },
    program,
    device,
    most,
    stay,
    stop,
    cancelToken: cancelToken(folder),
    threads: (proposed) => threadsFor(folder, options.threads, proposed, say),
    waiting: () => [...new Claims(folder, runs).waiting()],
    onEvent: (event, slot) => follow.report(event, slot),
    say,
    print,
  };
  const end = await launcher.launch(context, options.options);
  if (end === "settled") await combine();
  return { end, runs: runs.length, done: countDone() };
}

function threadsFor(
  folder: string,
  requested: number | undefined,
  proposed: number,
  say: (line: string) => void,
): number {
  const before = fixedThreads(folder);
  const fixed = before ?? fixThreads(folder, requested ?? proposed);
  if (requested !== undefined && requested !== fixed) {
    say(
      `note: new runs use ${requested} threads, but other runs of this sweep use ${fixed}; the last digits of results can differ`,
    );
    return requested;
  }
  if (fixed !== (requested ?? proposed))
    say(
      `note: ${fixed} thread${fixed === 1 ? "" : "s"} per run, as in the first launch of this sweep, so that results do not depend on the number of parallel runs`,
    );
  return fixed;
}
