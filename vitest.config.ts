import { defineConfig } from "vitest/config";

export default defineConfig({
  // The examples import the package by its name; in tests that is the source.
  resolve: {
    alias: [
      { find: /^nudge-dg$/, replacement: new URL("src/index.ts", import.meta.url).pathname },
      { find: /^nudge-dg\/([\w-]+)$/, replacement: new URL("src/$1/index.ts", import.meta.url).pathname },
    ],
  },
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // The addon is native code with one libtorch a process, so test files run in processes, not threads.
    pool: "forks",
    testTimeout: 60_000,
    // Files run side by side, one a core (the default leaves one core idle, which on two cores is half of them); more threads than
    // that only wait for each other.
    maxWorkers: "100%",
    env: { OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
  },
});
