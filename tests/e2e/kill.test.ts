/**
 * Killed at any moment and resumed, a run ends in the same bytes as one left alone: records, checkpoints, models, averages,
 * figures. The methods between them have all there is to lose: draws, moments of one optimizer and of several, an algorithm's
 * own state, SWAD's queues, running means, logs summed between evaluations. NUDGE_LONG=1 kills 1,000 times.
 * Moments are drawn from a seed, which NUDGE_FUZZ_SEED sets: the same ones again, as far as a machine repeats itself.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { RESUMABLE } from "../../src/cli/failure.js";
import { keyedRandom } from "../../src/engine/philox.js";
import { ownerOf } from "../../src/files/folder-lock.js";
import { forkServer } from "../support/fork-server.js";
import { type Started, startNudge } from "../support/start-nudge.js";

const SEED = Number(process.env.NUDGE_FUZZ_SEED ?? 1);

/** In memory if possible: a kill loses nothing that the program wrote, so a disk and its syncs would only take time. */
const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "nudge-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SETTINGS = [
  "train --data shapes --test-domain textured --steps 30 --eval-every 7 --batch-size 4",
  "data.perCell=5 data.size=16 checkpointEvery=2",
].join(" ");

/** Each method with how often it is killed: in the short form, and with NUDGE_LONG=1. */
const METHODS: Readonly<Record<string, { words: string; kills: readonly [number, number] }>> = {
  ERM: { words: "--algorithm ERM --threads 1", kills: [5, 250] },
  "ERM-NU on two threads": { words: "--algorithm ERM-NU --threads 2 warmup=5", kills: [5, 100] },
  "SWAD of Mixup-NU": {
    words: "--algorithm swad-mixup-nu --threads 1 warmup=5 swad.converge=2",
    kills: [5, 325],
  },
  "DANN, two optimizers, under two averages": {
    words: "--algorithm dann --averaging swad,moving-average --threads 1 moving-average.start=9",
    kills: [5, 325],
  },
};

/** Two threads that wait for each other by turning in a loop take a busy machine's time from themselves. */
process.env.OMP_WAIT_POLICY = "passive";

const runIn = (out: string): string => join(out, readdirSync(out)[0]);
const hasBegun = (out: string): boolean => existsSync(out) && existsSync(join(runIn(out), "settings.json"));
const words = (method: string, out: string): string[] =>
  hasBegun(out) ? ["train", "--resume", runIn(out)] : [...`${SETTINGS} ${method}`.split(" "), "--out", out];
const start = (method: string, out: string): Started => startNudge(words(method, out));

/** Trains undisturbed; how long it took to begin, and from then to its end, in milliseconds. */
async function leftAlone(method: string, out: string): Promise<{ beginning: number; training: number }> {
  const started = performance.now();
  const run = start(method, out);
  await run.said("run folder:");
  const begun = performance.now();
  expect(await run.ended).toMatchObject({ code: 0 });
  return { beginning: begun - started, training: performance.now() - begun };
}

/** What a run's settings determine; the rest tells of time and place. */
function determined(run: string): string[] {
  const files = (readdirSync(run, { recursive: true }) as string[]).filter((name) =>
    statSync(join(run, name)).isFile(),
  );
  const ofItsTime = /^(lock|events)\/|^(environment\.json|log\.txt|timing\.jsonl)$/;
  return files.filter((name) => !ofItsTime.test(name)).sort();
}

function expectSame(run: string, calm: string): void {
  expect(determined(run)).toEqual(determined(calm));
  for (const name of determined(calm)) {
    const [one, other] = [calm, run].map((each) => readFileSync(join(each, name)));
    expect(one.equals(other), `${name} of ${relative(folder, run)}`).toBe(true);
  }
  const stepsTimed = (each: string): number[] =>
    readFileSync(join(each, "timing.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).step);
  expect(stepsTimed(run)).toEqual(stepsTimed(calm));
}

describe.concurrent.each(Object.entries(METHODS))("%s", (name, { words: method, kills: [few, many] }) => {
  const KILLS = process.env.NUDGE_LONG ? many : few;
  const calm = join(folder, name, "calm");
  test(`ends in the same bytes as an uninterrupted run after ${KILLS} kills (seed ${SEED})`, {
    timeout: 30_000 * KILLS,
  }, async () => {
    const random = keyedRandom(SEED, "kill", name);
    const { beginning, training } = await leftAlone(method, calm);
    expect(determined(runIn(calm))).toContain("model.safetensors");
    await using server = forkServer();
    const warm = join(folder, name, "warm");
    const onOneThread = method.replace("--threads 2", "--threads 1"); // a second thread would not be in the forked processes
    for (const until of ["step 7:", "step 14:"]) await server.warmUp(words(onOneThread, warm), until);
    let [rounds, begun] = [0, 0];
    for (let left = KILLS; left > 0; rounds++) {
      const out = join(folder, name, `rough-${rounds}`);
      for (let ended = false; !ended; ) {
        // One time in ten from its first moment on, when there is perhaps a lock and no settings. The others are forked; only what
        // ends on two threads has a process of its own.
        const early = left > 0 && random.uniform() < 0.1;
        const whole = early || (left === 0 && method.includes("--threads 2"));
        const run = whole ? start(method, out) : server.start(words(method, out));
        if (left > 0) {
          if (!early) await Promise.race([run.said("run folder:"), sleep(60_000)]);
          await sleep(random.uniform() * (early ? beginning + 0.1 * training : 0.2 * training));
          run.kill("SIGKILL");
        }
        const { signal, code, stderr } = await run.ended;
        if (signal === "SIGKILL") {
          left--;
          if (stderr.includes("run folder:")) begun++;
        } else expect(code, stderr).toBe(0);
        ended = signal === null;
      }
      expectSame(runIn(out), runIn(calm));
      rmSync(out, { recursive: true });
    }
    console.info(
      `${name}: ${KILLS} kills in ${rounds} runs, ${begun} of them after training began, seed ${SEED}: the same bytes`,
    );
  });
});

test("SIGINT and SIGTERM stop it after a step, also one just resumed, and it ends in the same bytes", async () => {
  const [name, { words: method }] = Object.entries(METHODS)[2];
  const out = join(folder, "signals");
  let resumedAfter = "";
  for (const [signal, said] of [
    ["SIGINT", () => "step 7:"],
    ["SIGTERM", () => `resumed after step ${resumedAfter}\n`],
  ] as const) {
    const run = start(method, out);
    expect(await run.said(said())).toBe(true);
    run.kill(signal);
    const { code, stderr } = await run.ended;
    expect(code).toBe(RESUMABLE);
    expect(stderr).toContain(`${signal}: finishing the step; press again to stop immediately\n`);
    const [, step] = /stopped after step (\d+); resume with: nudge train --resume (.+)\n/.exec(stderr) ?? [];
    expect(Number(step)).toBeGreaterThanOrEqual(7);
    expect(ownerOf(join(runIn(out), "lock"))).toBeUndefined();
    resumedAfter = step;
  }
  expect(await start(method, out).ended).toMatchObject({ code: 0 });
  expectSame(runIn(out), runIn(join(folder, name, "calm")));
});

test("a second process on a running run is refused, and the first continues", async () => {
  const out = join(folder, "two");
  const { words: method } = METHODS.ERM;
  const first = start(`${method} --steps 100000`, out);
  await first.said("step 0:");
  const second = await start(method, out).ended;
  expect(second.code).toBe(2);
  expect(second.stderr).toContain(
    `process ${first.process.pid} is using it. Wait until that process has ended, or stop it first`,
  );
  first.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: RESUMABLE });
});
