/**
 * A sweep on two controllers at once, of which controllers and the processes that make runs are killed at random: in the end
 * every run is done, none was made twice, and records, models and report are those of a sweep left alone. NUDGE_LONG=1
 * plans more runs and kills more often; NUDGE_FUZZ_SEED sets the seed that moments and victims are drawn from.
 */

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { keyedRandom } from "../../src/engine/philox.js";
import { ownerOf } from "../../src/files/folder-lock.js";
import { lifeOf } from "../../src/files/process-identity.js";
import { makeReport, reportText } from "../../src/report/index.js";
import { readResults } from "../../src/report/read-results.js";
import { readPlan } from "../../src/sweep/sweep-folder.js";
import { catchPrinted } from "../support/printed.js";
import { type Started, startNudge } from "../support/start-nudge.js";

const long = process.env.NUDGE_LONG !== undefined;
const trials = long ? 20 : 5;
const kills = long ? 150 : 16;

const folder = mkdtempSync(join(tmpdir(), "nudge-faults-"));
const [calm, rough] = [join(folder, "calm"), join(folder, "rough")];
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000); // long on a busy disk

catchPrinted();

const plan = `sweep plan --data shapes --algorithms ERM,ERM-NU --trials ${trials} --steps 9 --eval-every 4 --batch-size 4 --no-measure
  data.perCell=4 data.size=16 checkpointEvery=2`;

const seed = Number(process.env.NUDGE_FUZZ_SEED ?? 1);
const random = keyedRandom(seed, "sweep faults");

/** One of some. */
const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random.uniform() * items.length)];

/** The processes that are making a run now. */
function makers(sweep: string): number[] {
  const runs = join(sweep, "runs");
  if (!existsSync(runs)) return [];
  return readdirSync(runs).flatMap((name) => {
    const owner = ownerOf(join(runs, name, "lock"));
    return owner && lifeOf(owner) === "alive" ? [owner.pid] : [];
  });
}

test(`a sweep with two controllers, killed controllers and killed runs (seed ${seed}) equals an uninterrupted one`, {
  timeout: long ? 1_800_000 : 300_000,
}, async () => {
  expect(await main([...plan.split(/\s+/), "--out", calm])).toBe(0);
  const planned = readPlan(calm);
  expect(planned).toHaveLength(8 * trials);
  cpSync(calm, rough, { recursive: true });

  const whole = await startNudge(["sweep", "run", calm, "--jobs", "2", "--threads", "1"]).ended;
  expect(whole).toMatchObject({ code: 0 });

  const outputs: Promise<{ stderr: string }>[] = [];
  const start = (): Started => {
    const one = startNudge(["sweep", "run", rough, "--jobs", "2", "--threads", "1", "--retries", "100"]);
    outputs.push(one.ended);
    return one;
  };
  const controllers = [start(), start()];
  let killed = { controllers: 0, makers: 0 };
  while (killed.controllers + killed.makers < kills && controllers.every(({ process }) => process.exitCode === null)) {
    await sleep(200 + 800 * random.uniform());
    // Not more than half are controllers: on a busy machine there is often no run to kill.
    if (random.bernoulli(0.25) && killed.controllers < kills / 2) {
      const at = random.integer(2);
      controllers[at].process.kill("SIGKILL");
      await controllers[at].ended;
      controllers[at] = start();
      killed = { ...killed, controllers: killed.controllers + 1 };
      continue;
    }
    const victim = pick(makers(rough));
    if (victim === undefined) continue;
    process.kill(victim, "SIGKILL");
    killed = { ...killed, makers: killed.makers + 1 };
  }
  const ends = await Promise.all(controllers.map(({ ended }) => ended));
  expect(ends.map(({ code, stderr }) => ({ code, stderr }))).toMatchObject([{ code: 0 }, { code: 0 }]);
  expect(killed.makers).toBeGreaterThan(kills / 4);

  const told = (await Promise.all(outputs)).flatMap(
    ({ stderr }) => stderr.match(/^\[ *\d+\/\d+\] [0-9a-f]{8}/gm) ?? [],
  );
  const made = told.map((line) => line.slice(-8));
  expect(new Set(made).size, "no run is said to be done twice").toBe(made.length);
  for (const { id, name } of planned) {
    for (const file of ["done", "records.jsonl", "model.safetensors"]) {
      const [one, other] = [calm, rough].map((sweep) => readFileSync(join(sweep, "runs", name, file)));
      expect(other.equals(one), `${file} of ${id}`).toBe(true);
    }
    const [one, other] = [calm, rough].map((sweep) => readdirSync(join(sweep, "runs", name)).sort());
    expect(other).toEqual(one);
  }
  expect(readdirSync(join(rough, "attempts")).filter((name) => name.endsWith(".json"))).toEqual([]);
  const [one, other] = [calm, rough].map((sweep) =>
    reportText(makeReport(readResults([join(sweep, "runs")])), "md").replaceAll(sweep, "sweep"),
  );
  expect(other).toBe(one);
});
