/** Turns the definition of a launcher into a launcher: its options are checked and parsed before it starts. */

import { declare } from "../../definitions.js";
import { type Options, readOptions } from "../../options.js";
import type { Launcher, LauncherDefinition } from "./launcher.js";

/**
 * Creates a launcher.
 *
 * ```ts
 * export const pbs = defineLauncher({
 *   id: "pbs",
 *   about: "An array job of PBS.",
 *   options: { queue: option(text, "the queue") },
 *   async launch(context, { queue = "batch" }) {
 *     // … write a script that calls `${context.program} sweep run ${context.folder} --jobs 1 --runs 1 --no-stay`, and qsub it
 *     return "handed over";
 *   },
 * });
 * ```
 */
export function defineLauncher<O extends Options>(definition: LauncherDefinition<O>): Launcher {
  const { id, options } = definition;
  return declare("launcher", {
    ...definition,
    launch: (context, given) =>
      definition.launch(context, readOptions(`launcher ${id}`, options, given, { prefix: `${id}: ` })),
  } satisfies Launcher);
}
