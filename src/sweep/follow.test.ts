import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Follow } from "./follow.js";
import type { ListedRun } from "./run-list.js";
import type { Slot } from "./worker-process.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("how long the rest takes goes by the last runs, not by a first one that took long", () => {
  const runs = Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, title: `shapes · run ${i}` }) as ListedRun);
  const lines: string[] = [];
  const follow = new Follow(runs, 0, (line) => void lines.push(line));
  const end = (id: number, seconds: number): void => {
    vi.advanceTimersByTime(1000 * seconds);
    follow.report({ event: "done", id: String(id), seconds } as Parameters<Follow["report"]>[0], { label: "" } as Slot);
  };
  end(0, 600);
  expect(lines.at(-1)).toBe("[ 1/40] 0 shapes · run 0 in 10:00, about 6:30:00 left"); // based on the run that has ended
  for (let i = 1; i < 17; i++) end(i, 2);
  expect(lines.at(-1)).toBe("[17/40] 16 shapes · run 16 in 0:02, about 0:46 left");
});

test("a run that was stopped during decoding does not report a step", () => {
  const lines: string[] = [];
  const follow = new Follow([{ id: "0", title: "shapes · run 0" } as ListedRun], 0, (line) => void lines.push(line));
  for (const step of [0, 1]) follow.report({ event: "stopped", id: "0", step }, { label: "" } as Slot);
  expect(lines).toEqual(["stopped before the first step: 0 shapes · run 0", "stopped after step 0: 0 shapes · run 0"]);
});

test("a combination that fails again at the end of the sweep has one line", () => {
  const lines: string[] = [];
  const follow = new Follow([], 0, (line) => void lines.push(line));
  for (const id of ["a", "a", "b"])
    follow.report({ event: "not combined", id, kind: "soup", error: "no weights" }, { label: "" } as Slot);
  expect(lines).toEqual(["FAILED: soup a: no weights", "FAILED: soup b: no weights"]);
});
