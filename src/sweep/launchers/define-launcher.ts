/** Turns a launcher's definition into a launcher: options are checked by name and read before it starts. */

import { unknownName } from "../../closest-name.js";
import { declare } from "../../definitions.js";
import { UsageError } from "../../errors.js";
import type { Launcher, LauncherDefinition, LauncherOptions, OptionValuesOf } from "./launcher.js";

/**
 * Makes a launcher.
 *
 * ```ts
 * export const pbs = defineLauncher({
 *   id: "pbs",
 *   about: "An array job of PBS.",
 *   options: { queue: launcherOption(text, "the queue") },
 *   async launch(context, { queue = "batch" }) {
 *     // … write a script that calls `${context.program} sweep run ${context.folder} --jobs 1 --runs 1 --no-stay`, and qsub it
 *     return "handed over";
 *   },
 * });
 * ```
 */
export function defineLauncher<O extends LauncherOptions>(definition: LauncherDefinition<O>): Launcher {
  const { id, options } = definition;
  const read = (given: Readonly<Record<string, unknown>>): OptionValuesOf<O> => {
    const values = Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
    for (const [name] of values)
      if (!Object.hasOwn(options, name))
        throw new UsageError(
          Object.keys(options).length === 0
            ? `launcher ${id}: it has no options, got "${name}"`
            : unknownName(`option of launcher ${id}`, name, Object.keys(options)),
        );
    return Object.fromEntries(
      values.map(([name, value]) => [name, options[name].read(`${id}: ${name}`, value)]),
    ) as OptionValuesOf<O>;
  };
  return declare("launcher", {
    ...definition,
    launch: (context, given) => definition.launch(context, read(given)),
  } satisfies Launcher);
}
