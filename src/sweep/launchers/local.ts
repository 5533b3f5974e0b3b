/** Runs on this machine's processors. */

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
    // Runs that shared threads would wait for each other: two runs of one thread are faster than two of two on two cores.
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
