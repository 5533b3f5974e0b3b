import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { onStopSignals, SAME_MS } from "./stop-signals.js";

test("the first signal asks to stop, a second one at the same time counts as the same, and a later one has the system's effect", async () => {
  const before = process.listenerCount("SIGINT");
  const told: string[] = [];
  using stop = onStopSignals((signal) => told.push(signal));
  expect(stop.asked).toBe(false);
  for (let i = 0; i < 2; i++) process.emit("SIGINT", "SIGINT");
  expect(stop.asked).toBe(true);
  expect(told).toEqual(["SIGINT"]);
  await sleep(SAME_MS + 100);
  expect(process.listenerCount("SIGINT")).toBe(before);
});

test("it does not listen after it is disposed of", () => {
  const before = process.listenerCount("SIGTERM");
  onStopSignals(() => {})[Symbol.dispose]();
  expect(process.listenerCount("SIGTERM")).toBe(before);
});
