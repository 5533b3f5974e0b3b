/**
 * Reads a request: defaults < a YAML file < `key=value` and options on the command line. A nested key is written with a
 * dot: `swad.tolerance=0.2` is the YAML `swad: { tolerance: 0.2 }`.
 *
 * The `settings.json` of a run is such a file too: it contains the settings that repeat the run under `request`.
 */

import { existsSync } from "node:fs";
import { parse } from "yaml";
import { ownCache } from "../data/named-folders.js";
import type { Request } from "../declared-settings/keys.js";
import { DataError, UsageError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { parseSettings } from "../records/run.js";
import { recordedRequest } from "./preprocessing.js";

/** What the words are if they are options of a dataset and not settings. */
export const DATASET_OPTIONS = "options of the dataset as key=value";

/** Parses `key=value` words. `expected` describes them in errors. */
export function readPairs(pairs: readonly string[], expected = "a setting as key=value, such as lr=1e-4"): Request {
  const request: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) {
      const data = existsSync(pair) ? `; for pictures in ${pair}: --data ${pair}` : "";
      throw new UsageError(`"${pair}": expected ${expected}${data}`);
    }
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (Object.hasOwn(request, name) && !isSame(request[name], value))
      throw new UsageError(`${name} is given twice: ${name}=${request[name]} and ${pair}; remove one of them`);
    request[name] = value;
  }
  return request;
}

/** Settings as flags and as `key=value`. A setting that is given in both ways must have the same value. */
export function mergePairs(flags: Request, pairs: Request, flagOf: (name: string) => string): Request {
  for (const [name, value] of Object.entries(pairs))
    if (flags[name] !== undefined && !isSame(flags[name], value))
      throw new UsageError(
        `${name} is given twice: ${flagOf(name)} ${flags[name]} and ${name}=${value}; remove one of them`,
      );
  return { ...flags, ...pairs };
}

const isSame = (a: unknown, b: unknown): boolean =>
  String(a) === String(b) || (String(a).trim() !== "" && Number(a) === Number(b));

/** Reads a YAML (or JSON) file of settings. */
export function readConfig(path: string): Request {
  let parsed: unknown;
  try {
    parsed = parse(readText(path));
  } catch (cause) {
    throw new DataError(`${path}: the settings could not be read: ${(cause as Error).message}`, { cause });
  }
  if (parsed === null) return {};
  if (!isObject(parsed)) throw new DataError(`${path}: expected settings by name, as in "steps: 300"`);
  checkDepth(path, parsed);
  if (!("hash" in parsed && isObject(parsed.request))) return flatten(parsed);
  const { fixed } = parseSettings(path, JSON.stringify(parsed));
  const { cache, ...request } = recordedRequest(flatten(parsed.request));
  const own = ownCache(cache); // the run can come from anybody, and a cache is written
  return { fixed: Object.keys(fixed), ...request, ...(own !== undefined && { cache: own }) };
}

/** Merges settings over those of a file. If the file belongs to a run, the settings given here count as explicit too. */
export function requestOver({ fixed, ...file }: Request, given: Request): Request {
  return { ...file, ...given, ...(Array.isArray(fixed) && { fixed: [...fixed, ...Object.keys(given)] }) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A YAML file can refer to itself; settings are two levels deep. */
function checkDepth(path: string, value: unknown, depth = 0): void {
  if (typeof value !== "object" || value === null) return;
  if (depth > 20) throw new DataError(`${path}: the settings are nested too deeply, or refer to themselves`);
  for (const item of Object.values(value)) checkDepth(path, item, depth + 1);
}

function flatten(values: Readonly<Record<string, unknown>>, prefix = ""): Request {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      isObject(value) ? Object.entries(flatten(value, `${prefix}${name}.`)) : [[`${prefix}${name}`, value]],
    ),
  );
}
