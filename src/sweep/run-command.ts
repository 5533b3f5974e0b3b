/**
 * The complete command that executes a sweep. A plug-in is code, so it is never loaded because a sweep was planned with
 * it: the command names it, and the user starts the command.
 */

import { basename, isAbsolute, relative } from "node:path";
import { isPluginFileLoaded } from "../definitions.js";
import { UsageError } from "../errors.js";
import { shellWord } from "../files/shell-words.js";
import type { SweepFile } from "./sweep-folder.js";

type Planned = Pick<SweepFile, "plugins">;

/** A path as it is typed: below the current folder without that folder. */
const asGiven = (path: string): string => {
  const inside = relative("", path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside;
};

/** ` --plugin mine.mjs`, for each plug-in of a sweep. */
export const pluginWords = ({ plugins = [] }: Planned): string =>
  plugins.map((path) => ` --plugin ${shellWord(asGiven(path))}`).join("");

/** `nudge sweep run DIR --plugin mine.mjs`. */
export const runCommand = (folder: string, sweep: Planned): string =>
  `nudge sweep run ${shellWord(folder)}${pluginWords(sweep)}`;

/** Throws if a plug-in with which a sweep was planned is not loaded: every run that needs it would fail. */
export function checkPlugins(folder: string, sweep: Planned): void {
  const missing = (sweep.plugins ?? []).filter((path) => !isPluginFileLoaded(basename(path)));
  if (missing.length > 0)
    throw new UsageError(
      `${folder}: the sweep was planned with plug-ins that are not loaded (${missing.map((path) => basename(path)).join(", ")}). A plug-in is code, so name it again: ${runCommand(folder, sweep)}`,
    );
}
