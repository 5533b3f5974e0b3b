/** Signals as a wish to stop that grows: the first for a checkpoint, the second for an end at once. */

import { SAME_MS } from "./stop-signals.js";

export interface StopLevels extends Disposable {
  readonly level: 0 | 1 | 2;
  /** The first signal that came. */
  readonly signal: NodeJS.Signals | undefined;
}

/** Listens to signals until disposed of; `told` hears of each that counts. */
export function onStopLevels(
  signals: readonly NodeJS.Signals[],
  told: (signal: NodeJS.Signals, level: 1 | 2) => void,
): StopLevels {
  const state: { level: 0 | 1 | 2; signal: NodeJS.Signals | undefined } & Disposable = {
    level: 0,
    signal: undefined,
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, hear);
    },
  };
  let last = Number.NEGATIVE_INFINITY;
  const hear = (signal: NodeJS.Signals): void => {
    const again = performance.now() - last < SAME_MS;
    last = performance.now();
    if (state.level === 2 || again) return;
    state.signal ??= signal;
    state.level = state.level === 0 ? 1 : 2;
    told(signal, state.level);
  };
  for (const signal of signals) process.on(signal, hear);
  return state;
}
