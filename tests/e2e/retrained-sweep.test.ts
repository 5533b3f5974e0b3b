/**
 * A sweep whose runs train again on all pictures after validation has chosen their length, as ERM++'s paper does: killed
 * during both trainings it ends in the bytes of one left alone, and a report has the second training as a row.
 */

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { readResults } from "../../src/report/read-results.js";
import { methodTitle } from "../../src/settings/names.js";
import { readTrainSettings } from "../../src/training/run-folder.js";
import { catchPrinted } from "../support/printed.js";
import { until } from "../support/slurm-cluster.js";
import { startNudge } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-retrained-"));
const [calm, rough] = [join(folder, "calm"), join(folder, "rough")];
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const printed = catchPrinted();

const ASKED = [
  ...["sweep", "plan", "--data", "shapes", "--test-domains", "filled", "--trials", "1", "--algorithms", "ERM++"],
  ...["--steps", "300", "--eval-every", "20", "--batch-size", "4", "--no-measure", "data.perCell=4", "data.size=16"],
  ...["headSteps=10", "averageFrom=20", "schedule=plateau", "plateau.from=10", "retrain=true", "checkpointEvery=10"],
];

const FILES = ["settings.json", "records.jsonl", "model.safetensors", "done"];
const determined = (run: string): Record<string, string> =>
  Object.fromEntries(
    [...FILES, ...FILES.map((name) => join("retrained", name))].map((name) => [
      name,
      readFileSync(join(run, name), "base64"),
    ]),
  );

test("a sweep trains again without a person in between, also after kills", { timeout: 400_000 }, async () => {
  expect(await main([...ASKED, "--out", calm])).toBe(0);
  cpSync(calm, rough, { recursive: true });
  const words = ["--jobs", "1", "--threads", "1"];
  expect(await startNudge(["sweep", "run", calm, ...words]).ended).toMatchObject({ code: 0 });
  const [name] = readdirSync(join(calm, "runs"));
  const run = join(rough, "runs", name);
  for (const checkpoint of ["checkpoint/last.safetensors", "retrained/checkpoint/last.safetensors"]) {
    const killed = startNudge(["sweep", "run", rough, ...words]);
    await until(() => existsSync(join(run, checkpoint)), `there is no ${checkpoint}`, 90);
    killed.process.kill("SIGKILL");
    await killed.ended;
    expect(existsSync(join(run, "done"))).toBe(false);
  }
  expect(await startNudge(["sweep", "run", rough, ...words]).ended).toMatchObject({ code: 0 });
  expect(determined(run)).toEqual(determined(join(calm, "runs", name)));
  const log = readFileSync(join(run, "retrained", "log.txt"), "utf8");
  expect(log).toMatch(/resumed after step \d+/);

  const { runs, stored, notes } = readResults([calm]);
  expect(notes).toEqual([]);
  expect(stored).toHaveLength(1); // the second training is part of the run
  const titles = runs.map(({ method }) => methodTitle(method).split(" [")[0]);
  expect(titles).toEqual(["ERM++", "Retrained-ERM++"]);
  expect(readTrainSettings(join(run, "retrained")).trainOnAll).toBe(true);
  expect(await main(["sweep", "clean", rough, "--yes"])).toBe(0);
  expect([run, join(run, "retrained")].map((each) => existsSync(join(each, "checkpoint")))).toEqual([false, false]);
  expect(await main(["report", calm, "--only", "tables"])).toBe(0);
  expect(printed.stdout).toMatch(/^\| Retrained-ERM\+\+ /m);
});
