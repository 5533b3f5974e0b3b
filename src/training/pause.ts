/** Pauses of a long computation, in which signals and timers are processed. */

import { setImmediate as turn } from "node:timers/promises";
import { StoppedError } from "../errors.js";

/** Returns a pause that throws a StoppedError if the work should stop. */
export const pauseUnless =
  (shouldStop: () => boolean): (() => Promise<void>) =>
  async () => {
    await turn(); // a signal to stop is an event
    if (shouldStop()) throw new StoppedError("asked to stop");
  };
