import { availableParallelism } from "node:os";
import { afterEach, expect, test, vi } from "vitest";
import { defaultThreads } from "../engine/default-threads.js";
import { resolve } from "./resolve.js";

afterEach(() => vi.unstubAllEnvs());

test.each([
  ["3", "2", 3],
  [undefined, "2", 2],
  ["0", "2.9", 2],
  ["none", undefined, availableParallelism()],
  ["0.5", undefined, 1],
])("NUDGE_THREADS=%s and OMP_NUM_THREADS=%s make %i threads", (nudge, omp, expected) => {
  vi.stubEnv("NUDGE_THREADS", nudge);
  vi.stubEnv("OMP_NUM_THREADS", omp);
  expect(defaultThreads()).toBe(expected);
});

test("training uses the default, and --threads has priority", async () => {
  vi.stubEnv("NUDGE_THREADS", "3");
  const request = { data: "shapes", testDomains: "inverted", "data.perCell": 2 };
  expect((await resolve(request)).settings.threads).toBe(3);
  expect((await resolve({ ...request, threads: 2 })).settings.threads).toBe(2);
});
