/** The arguments of a process that executes runs. */

import { delimiter } from "node:path";
import type { WorkRules } from "./work.js";

/** The plug-ins of this process, as arguments. Child processes inherit them; commands for other processes must name them. */
export function pluginWords(env: NodeJS.ProcessEnv = process.env): string[] {
  const files = (env.NUDGE_PLUGINS ?? "").split(delimiter).filter((file) => file !== "");
  return files.flatMap((file) => ["--plugin", file]);
}

/** The rules of a sweep, as arguments. */
export function ruleWords({ retries, maxFailures, only, stopHopeless }: WorkRules): string[] {
  return [
    ...(retries > 0 ? ["--retries", String(retries)] : []),
    ...(maxFailures !== null ? ["--max-failures", String(maxFailures)] : []),
    ...(only !== null ? ["--only", only.join(",")] : []),
    ...(stopHopeless ? ["--stop-hopeless"] : []),
  ];
}
