/** SIGINT and SIGTERM as a wish to stop at the next good moment. */

export interface StopSignals extends Disposable {
  /** Whether one has come. */
  readonly asked: boolean;
}

/** One wish may arrive twice: npm, timeout and schedulers send a signal to a process and to its group. */
export const SAME_MS = 500;

/** Listens until disposed of: the first signal asks to stop and is told; a later one is the system's to act on. */
export function onStopSignals(told: (signal: string) => void): StopSignals {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const end = (): void => {
    for (const signal of signals) process.off(signal, ask);
  };
  const state = { asked: false, [Symbol.dispose]: end };
  const ask = (signal: NodeJS.Signals): void => {
    if (state.asked) return;
    state.asked = true;
    setTimeout(end, SAME_MS).unref();
    told(signal);
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
