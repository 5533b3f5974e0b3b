/**
 * A sweep that searches over optimizers, schedules and the first updates, with a soup and an ensemble of its draws: killed again and again it ends in the
 * bytes of one left alone, and a report has the combinations as rows.
 */

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { readResults } from "../../src/report/read-results.js";
import { readTrainSettings } from "../../src/training/run-folder.js";
import { catchPrinted } from "../support/printed.js";
import { startNudge } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-searched-"));
const [calm, rough] = [join(folder, "calm"), join(folder, "rough")];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

catchPrinted();

const ASKED = [
  ...["sweep", "plan", "--data", "shapes", "--test-domains", "filled", "--trials", "1", "--hparams", "4"],
  ...["--steps", "9", "--eval-every", "4", "--batch-size", "4", "--no-measure", "--soup", "--ensemble"],
  ...["optimizer={adam, adamw, sgd}", "schedule={constant, cosine, one-cycle}", "warmupSteps={0, 3}", "headFirst=2"],
  ...["data.perCell=4", "data.size=16", "checkpointEvery=2"],
];

const determined = (sweep: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(sweep, "runs")).flatMap((run) =>
      ["settings.json", "records.jsonl", "model.safetensors", "done"]
        .map((name) => join("runs", run, name))
        .filter((name) => existsSync(join(sweep, name)))
        .map((name) => [name, readFileSync(join(sweep, name), "base64")]),
    ),
  );

test("a killed and resumed search over optimizers and schedules gives the same bytes", {
  timeout: 200_000,
}, async () => {
  expect(await main([...ASKED, "--out", calm])).toBe(0);
  cpSync(calm, rough, { recursive: true });
  const words = ["--jobs", "2", "--threads", "1", "--retries", "100"];
  expect(await startNudge(["sweep", "run", calm, ...words]).ended).toMatchObject({ code: 0 });
  for (let kill = 0; kill < 2; kill++) {
    const one = startNudge(["sweep", "run", rough, ...words]);
    await Promise.race([one.ended, sleep(2500 + 1500 * kill)]);
    one.process.kill("SIGKILL");
    await one.ended;
  }
  expect(await startNudge(["sweep", "run", rough, ...words]).ended).toMatchObject({ code: 0 });
  // As if the process had been killed after the last run: the combination alone is made.
  const soup = readdirSync(join(rough, "runs")).find((name) => name.includes("-soup-"))!;
  rmSync(join(rough, "runs", soup), { recursive: true });
  expect(await startNudge(["sweep", "run", rough, ...words]).ended).toMatchObject({ code: 0 });
  expect(determined(rough)).toEqual(determined(calm));

  const { runs, stored, notes } = readResults([calm]);
  for (const name of ["optimizer", "schedule"] as const) {
    const drawn = stored.map(({ folder: run }) => readTrainSettings(run)[name]?.id);
    expect(new Set(drawn).size, name).toBeGreaterThan(1);
  }
  expect(notes).toEqual([]);
  const models = runs.map(({ method }) => method.model);
  expect(models.filter((model) => model === "current")).toHaveLength(4);
  expect(models.filter((model) => model !== "current").sort()).toEqual(["ensemble", "soup"]);
  for (const { method, evaluations, domains } of runs.filter((run) => run.method.model !== "current"))
    expect([...evaluations[0].accuracy.keys()], method.model).toEqual(domains);
});
