/** Files that somebody else may have made are opened in one place, `src/files/open-file.ts`. This test finds other places. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** The other places that open files by path, and why they may: the number of calls in each. */
const KNOWN: Readonly<Record<string, readonly [calls: number, why: string]>> = {
  "files/open-file.ts": [2, "the place"],
  "files/replace-file.ts": [1, "a new file with a random name"],
  "files/sync-folder.ts": [1, "a folder"],
  "files/content-store.ts": [1, "a new file with a random name"],
  "files/process-identity.ts": [2, "/proc"],
  "sweep/memory.ts": [1, "/proc and /sys"],
  "cli/doctor-facts.ts": [2, "/proc, and the own build"],
  "engine/build-folder.ts": [1, "the package"],
  "http/page-files.ts": [1, "the package"],
  "serve/export-web.ts": [1, "the package"],
  "paper/published.ts": [1, "the package"],
  "backbones/published-weights.ts": [1, "the package"],
  "files/imported-files.ts": [3, "code that the user names"],
  "cli/plugins.ts": [1, "code that the user names"],
  "get-data/unpack.ts": [2, "new files; an archive that is open"],
  "download/download.ts": [1, "the own part of a download, below the folder that the user names"],
  "pack/unpack-study.ts": [1, "a new file in a new folder"],
  "cli/writable-place.ts": [1, "a new file"],
  "cli/model-options.ts": [1, "a new file"],
  "cli/sorted-copies.ts": [2, "pictures that were decoded before"],
  "bench/sweep.ts": [1, "files of the benchmark"],
  "bench/runs.ts": [2, "a run of the benchmark, and /proc"],
  "bench/step.ts": [1, "/proc"],
  "bench/data.ts": [1, "files of the benchmark"],
};

const OPENS = /(?<![\w.])(?:readFile|readFileSync|openSync|createReadStream)\((?!\)|\w+, \{ fd: |new URL\()/g;

test("files are opened to read in one place, which cannot wait for a pipe and has a limit", () => {
  const found = readdirSync(src, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(src, name), "utf8");
      const calls = /from "node:fs(\/promises)?"/.test(text) ? (text.match(OPENS) ?? []) : [];
      return calls.length > 0 ? [[name, calls.length] as const] : [];
    });
  const known = Object.entries(KNOWN).map(([name, [calls]]) => [name, calls] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(known));
});
