/** The launchers by name. To add one, write its file and add a line here, or use a plug-in. */

import { unknownName } from "../../closest-name.js";
import { UsageError } from "../../errors.js";
import { gpus } from "./gpus.js";
import type { Launcher } from "./launcher.js";
import { local } from "./local.js";
import { print } from "./print.js";
import { slurm } from "./slurm.js";

export { quoteWords as shellWords } from "../../files/shell-words.js";
export { defineLauncher } from "./define-launcher.js";
export type {
  LaunchContext,
  LaunchEnd,
  Launcher,
  LauncherDefinition,
} from "./launcher.js";

export const launchers: Record<string, Launcher> = { local, gpus, slurm, print };

/** The launcher with this name. */
export function launcherNamed(name: string): Launcher {
  if (!Object.hasOwn(launchers, name)) throw new UsageError(unknownName("launcher", name, Object.keys(launchers)));
  return launchers[name];
}
