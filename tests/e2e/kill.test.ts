/**
 * Killed at any moment and resumed, a run ends in the same bytes as one left alone: records, checkpoints, model. Mixup under
 * SWAD with the nuclear norm has all there is to lose: draws, Adam's moments, SWAD's queues, means of logs between
 * evaluations. NUDGE_LONG=1 kills more often.
 */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { startNudge } from "../support/start-nudge.js";

const kills = process.env.NUDGE_LONG ? 24 : 4;
const folder = mkdtempSync(join(tmpdir(), "nudge-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const settings = [
  "train --data shapes --test-domain textured --algorithm swad-mixup-nu --steps 90 --eval-every 7 --batch-size 4 --threads 1",
  "data.perCell=5 data.size=16 warmup=10 checkpointEvery=3",
]
  .join(" ")
  .split(" ");

const files = ["records.jsonl", "model.safetensors", "checkpoint/best.safetensors", "checkpoint/last.safetensors"];
const runIn = (out: string): string => join(out, readdirSync(out)[0]);

test(`a run killed ${kills} times ends in the bytes of one left alone`, {
  timeout: 20_000 + kills * 10_000,
}, async () => {
  const calm = join(folder, "calm");
  const whole = await startNudge([...settings, "--out", calm, "--quiet"]).ended;
  expect(whole.stderr).toBe("");
  expect(whole.code).toBe(0);
  const last = readFileSync(join(runIn(calm), "timing.jsonl"), "utf8")
    .trim()
    .split("\n")
    .at(-1)!;
  const training = JSON.parse(last).seconds * 1000;

  let left = kills;
  for (let round = 0; left > 0; round++) {
    const out = join(folder, `rough-${round}`);
    const begun = (): boolean => existsSync(out) && existsSync(join(runIn(out), "settings.json"));
    let ended = false;
    while (!ended) {
      const run = startNudge(begun() ? ["train", "--resume", runIn(out)] : [...settings, "--out", out]);
      await run.said("run folder:");
      if (left > 0) {
        await sleep(Math.random() * 0.6 * training);
        run.process.kill("SIGKILL");
      }
      const { signal, code, stderr } = await run.ended;
      if (signal === "SIGKILL") left--;
      else expect({ code, stderr }).toMatchObject({ code: 0 });
      ended = signal === null;
    }
    for (const part of [".", "checkpoint", "figures"]) {
      const [one, other] = [calm, out].map((each) => readdirSync(join(runIn(each), part)).sort());
      expect(other).toEqual(one);
    }
    for (const file of files) {
      const [one, other] = [calm, out].map((each) => readFileSync(join(runIn(each), file)));
      expect(other.equals(one), `${file} after round ${round}`).toBe(true);
    }
  }
});
