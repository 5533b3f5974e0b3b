/** Executes runs on the CPU of this machine. */

import { availableParallelism } from "node:os";
import { option, whole } from "../../options.js";
import { controlHere } from "./control-here.js";
import { defineLauncher } from "./define-launcher.js";

export const local = defineLauncher({
  id: "local",
  about: "On the CPU cores of this machine, as many parallel runs as cores and memory allow.",
  options: {
    jobs: option(whole(1), "the number of parallel runs (default: one per core)"),
  },
  launch(context, { jobs = availableParallelism() }) {
    // Runs that share cores wait for each other: on two cores, two runs with one thread each are faster than two runs with two threads each.
    const threads = context.threads(Math.max(1, Math.floor(availableParallelism() / jobs)));
    const device = context.device ?? "cpu";
    const slots = Array.from({ length: jobs }, (_, i) => ({
      label: `job ${i + 1}`,
      device,
      threads,
      env: {},
    }));
    const shared = `${threads} thread${threads === 1 ? "" : "s"} each`;
    context.say(`${jobs} at a time on this machine, ${shared}`);
    return controlHere(context, slots);
  },
});
