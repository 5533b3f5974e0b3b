/** The folder of a run of `nudge train`, with a readable name, and the links to it. */

import { existsSync, lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { UsageError } from "../errors.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { runName, type TrainSettings } from "../settings/settings.js";

/** The link to the run that was trained last, and not to the runs that only measure its accuracy. */
export const LATEST = "latest";

const word = (text: string): string => text.replace(/[^\w.+-]+/g, "_").replace(/^[.-]+/, "_");

/**
 * `shop-exact-probe-2b5c8f1e`, `shop-erm+nuclear-norm-without-dusk-0c1d22aa`: a function of the settings, like every
 * name of a run.
 */
export function readableName(settings: TrainSettings): string {
  const { data, hash, testDomains, probe, algorithm, regularizers, averaging, trialSeed } = settings;
  const folder = data.split(/[\\/]/).findLast((part) => part !== "" && part !== ".") ?? "pictures";
  const plugins = [...averaging.map(({ id }) => id), algorithm, ...regularizers.map(({ id }) => id)].join("+");
  const method = probe === "exact" ? "exact-probe" : `${probe ? "probe-" : ""}${plugins}`;
  const held = testDomains.length > 0 ? [`without-${testDomains.join("+")}`] : [];
  const trial = trialSeed > 0 ? [`trial${trialSeed}`] : [];
  return [folder.replace(/\.\w+$/, ""), method, ...held, ...trial, hash.slice(0, 8)].map(word).join("-").slice(0, 200);
}

/**
 * The folder of a run. Benchmark runs keep the names that sweeps and reports know, and so does a run that an earlier
 * version began.
 */
export function runPath(out: string, settings: TrainSettings): string {
  const full = join(out, runName(settings));
  return isOwnDataset(settings.dataset) && !existsSync(full) ? join(out, readableName(settings)) : full;
}

/** Rejects a name that cannot be a link in the folder of runs. Called before anything is trained. */
export function checkName(out: string, name: string): void {
  if (name === "" || name !== basename(name) || name === ".." || name === "." || name === LATEST)
    throw new UsageError(`--name ${name}: expected a name without slashes, such as shop-v2`);
  const there = lstatSync(join(out, name), { throwIfNoEntry: false });
  if (there && !there.isSymbolicLink())
    throw new UsageError(
      `--name ${name}: ${join(out, name)} already exists and is not a link to a run; choose another name`,
    );
}

/** The run folder itself, if a run was given by one of its names. */
export function behindLink(run: string): string {
  if (!lstatSync(run, { throwIfNoEntry: false })?.isSymbolicLink()) return run;
  const target = readlinkSync(run);
  return isAbsolute(target) ? target : join(dirname(run), target);
}

/** Makes the link `name` point to a run and returns the run it pointed to before, which is not changed. */
export function linkRun(given: string, name: string): string | undefined {
  const run = behindLink(given);
  const link = join(dirname(run), name);
  const target = relative(dirname(link), run);
  const there = lstatSync(link, { throwIfNoEntry: false });
  if (there && !there.isSymbolicLink()) return undefined; // a file of the user, which is not changed
  const before = there ? readlinkSync(link) : undefined;
  if (before === target) return undefined;
  const beside = `${link}.${process.pid}.tmp`;
  try {
    symlinkSync(target, beside, "dir");
    renameSync(beside, link);
  } catch {
    rmSync(beside, { force: true }); // the file system has no links; the run still has its own name
    return undefined;
  }
  return before;
}

/** Names a finished run, and reports where the name pointed before. */
export function nameRun(
  run: string,
  { name }: { readonly name?: string },
  reporter: { line(text: string): void },
): void {
  linkRun(run, LATEST);
  if (name === undefined) return;
  const before = linkRun(run, name);
  if (before !== undefined)
    reporter.line(`note: the name ${name} pointed to ${before} before; that run is still there`);
}

/** The path to print for a run: its link, if one points to it. */
export function shortPath(run: string, name: string = LATEST): string {
  const link = join(dirname(run), name);
  const there = lstatSync(link, { throwIfNoEntry: false });
  return there?.isSymbolicLink() && join(dirname(link), readlinkSync(link)) === join(run) ? link : run;
}
