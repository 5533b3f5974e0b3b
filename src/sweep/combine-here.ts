/** Creates, in one process on this machine, the soups and ensembles that a stopped or killed process has left unfinished. */

import { cancelToken } from "./cancel-marks.js";
import { readyCombinations } from "./combinations.js";
import type { StopWish } from "./controller.js";
import type { WorkEvent } from "./work.js";
import { type Slot, WorkerProcess } from "./worker-process.js";

export interface CombineHereOptions {
  readonly folder: string;
  /** The command that starts `nudge`. */
  readonly program: readonly string[];
  readonly device?: string;
  readonly threads: number;
  readonly stop: StopWish;
  readonly onEvent: (event: WorkEvent, slot: Slot) => void;
}

/** Starts a process for the combinations whose runs are done, if there are any. It executes no run. */
export async function combineHere(options: CombineHereOptions): Promise<void> {
  const { folder, program, device, threads, stop, onEvent } = options;
  if (readyCombinations(folder).length === 0) return;
  const slot = { label: "combinations", device, threads, env: {} };
  const words = [...program, "sweep", "work", folder, "--threads", String(threads), "--runs", "0"];
  words.push("--launched-under", cancelToken(folder), ...(device === undefined ? [] : ["--device", device]));
  const worker = new WorkerProcess(slot, words, (event) => onEvent(event, slot));
  const watch = setInterval(() => {
    if (stop.level > 0) worker.stop();
  }, 250);
  await worker.ended.finally(() => clearInterval(watch));
}
