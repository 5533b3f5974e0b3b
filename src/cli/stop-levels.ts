/** Signals as a request to stop with two levels: the first asks for a checkpoint, the second for an immediate end. */

import { SAME_MS } from "./stop-signals.js";

export interface StopLevels extends Disposable {
  readonly level: 0 | 1 | 2;
  /** The first signal received. */
  readonly signal: NodeJS.Signals | undefined;
}

/** Listens for signals until disposed of. `onLevel` is called for each signal that raises the level. */
export function onStopLevels(
  signals: readonly NodeJS.Signals[],
  onLevel: (signal: NodeJS.Signals, level: 1 | 2) => void,
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
    onLevel(signal, state.level);
  };
  for (const signal of signals) process.on(signal, hear);
  return state;
}
