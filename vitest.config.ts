import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";

/**
 * Folders whose tests share a process per core, because loading libtorch and the sources takes longer than most of these
 * files. A file that counts tensors, registers parts, or changes or looks at its process, has a process of its own, like all
 * other files.
 */
const FOLDERS = [
  ...["algorithms", "analysis", "averaging", "data", "drawing", "engine", "export", "files", "model", "nn", "optim"],
  ...["own-data", "paper", "probe", "records", "reference", "regularizers", "report", "run-index", "selection"],
  "settings",
].map((folder) => `src/${folder}`);
const ALONE =
  /liveTensors|memory\(|\bgc\(|\bvi\.|\bprocess\.|child_process|worker_threads|loadPlugins|\bregister\(|setThreads|\bmain\(/;

const root = new URL(".", import.meta.url).pathname;
const shared = [...FOLDERS, "tests/parity"]
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))))
  .filter((path) => path.endsWith(".test.ts") && !ALONE.test(readFileSync(join(root, path), "utf8")));

export default defineConfig({
  // The examples import the package by its name; in tests that is the source.
  resolve: {
    alias: [
      { find: /^nudge-dg$/, replacement: new URL("src/index.ts", import.meta.url).pathname },
      { find: /^nudge-dg\/([\w-]+)$/, replacement: new URL("src/$1/index.ts", import.meta.url).pathname },
    ],
  },
  test: {
    // The addon is native code with one libtorch a process, so test files run in processes, not threads.
    pool: "forks",
    testTimeout: 60_000,
    // Files run side by side, one a core (the default leaves one core idle, which on two cores is half of them); more threads than
    // that only wait for each other.
    maxWorkers: "100%",
    env: { OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
    projects: [
      { extends: true, test: { name: "shared process", include: shared, isolate: false } },
      {
        extends: true,
        test: {
          name: "own process",
          include: ["src/**/*.test.ts", "tests/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...shared],
        },
      },
    ],
  },
});
