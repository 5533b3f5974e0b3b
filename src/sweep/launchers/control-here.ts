/** The part that all launchers for this machine share: a controller of their slots. */

import { type ControlEnd, control } from "../controller.js";
import type { Slot } from "../worker-process.js";
import type { LaunchContext } from "./launcher.js";

/** Executes the sweep on slots of this machine. */
export function controlHere(context: LaunchContext, slots: readonly Slot[]): Promise<ControlEnd> {
  const { folder, runs, rules, program, most, stay, cancelToken, stop, onEvent, say } = context;
  return control({ folder, runs, slots, rules, program, most, first: 0, stay, cancelToken, stop, onEvent, say });
}
