import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { onStopLevels } from "./stop-levels.js";

test("the first signal asks to stop, a second one at the same time counts as the same, and a later one forces it", async () => {
  const told: string[] = [];
  using stop = onStopLevels(["SIGUSR2"], (signal, level) => told.push(`${signal} ${level}`));
  expect(stop.level).toBe(0);
  for (let i = 0; i < 2; i++) process.emit("SIGUSR2", "SIGUSR2");
  expect([stop.level, stop.signal]).toEqual([1, "SIGUSR2"]);
  await sleep(600);
  process.emit("SIGUSR2", "SIGUSR2");
  expect(stop.level).toBe(2);
  expect(told).toEqual(["SIGUSR2 1", "SIGUSR2 2"]);
});

test("afterwards signals are the system's again", () => {
  const before = process.listenerCount("SIGUSR2");
  onStopLevels(["SIGUSR2"], () => {})[Symbol.dispose]();
  expect(process.listenerCount("SIGUSR2")).toBe(before);
});
