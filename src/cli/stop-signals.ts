/** SIGINT and SIGTERM as a request to stop at the next safe point. */

export interface StopSignals extends Disposable {
  /** Whether a signal has been received. */
  readonly asked: boolean;
}

/** One request can arrive twice: npm, timeout and schedulers send a signal to a process and to its group. */
export const SAME_MS = 500;

/**
 * Listens until disposed of. The first signal requests a stop and is reported; the default action applies to a later
 * one.
 */
export function onStopSignals(onSignal: (signal: string) => void): StopSignals {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const end = (): void => {
    for (const signal of signals) process.off(signal, ask);
  };
  const state = { asked: false, [Symbol.dispose]: end };
  const ask = (signal: NodeJS.Signals): void => {
    if (state.asked) return;
    state.asked = true;
    setTimeout(end, SAME_MS).unref();
    onSignal(signal);
  };
  for (const signal of signals) process.on(signal, ask);
  return state;
}

/** Waits for a signal to stop. */
export function untilStopped(): Promise<void> {
  return new Promise((done) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => done());
  });
}
