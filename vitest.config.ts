import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
    // The addon is native code with one libtorch per process, so test files run in processes, not threads.
    pool: "forks",
    testTimeout: 60_000,
  },
});
