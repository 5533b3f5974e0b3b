/** SIGINT and SIGTERM as a wish to stop at the next good moment. */

export interface StopSignals extends Disposable {
  /** Whether one has come. */
  readonly asked: boolean;
}

/** Listens until disposed of: the first signal asks to stop and is told; the second is the system's to act on. */
export function onStopSignals(told: (signal: string) => void): StopSignals {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const end = (): void => {
    for (const signal of signals) process.off(signal, ask);
  };
  const state = { asked: false, [Symbol.dispose]: end };
  const ask = (signal: NodeJS.Signals): void => {
    state.asked = true;
    end();
    told(signal);
  };
  for (const signal of signals) process.on(signal, ask);
  return state;
}
