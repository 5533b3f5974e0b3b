/**
 * The addon built with the address and undefined-behaviour sanitizers, under the operator fuzz, the calls that once crashed and a
 * training run: whatever they find ends the process, and its report is in the failure. With NUDGE_LONG=1, since the build takes minutes.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { type ChildResult, runChild } from "../support/child.js";

const CASES = 5000;
const firstSeed = Number(process.env.NUDGE_FUZZ_SEED ?? 101);

const folder = mkdtempSync(join(tmpdir(), "nudge-sanitized-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pictures = fileURLToPath(new URL("../released/pictures", import.meta.url));

let env: Record<string, string> = {};

async function run(file: string, args: readonly string[], flags: readonly string[] = []): Promise<ChildResult> {
  const result = await runChild(new URL(file, import.meta.url), { args, env, flags, timeout: 900_000 });
  const { code, signal, stderr } = result;
  expect({ code, signal, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, signal: null, stderr: "" });
  expect(stderr).not.toMatch(/runtime error|AddressSanitizer/);
  return result;
}

describe.runIf(process.env.NUDGE_LONG)("the addon, built with sanitizers,", () => {
  test("is built and checked", { timeout: 3_600_000 }, () => {
    const build = fileURLToPath(new URL("build.mjs", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [build], { encoding: "utf8" });
    expect(status, stderr).toBe(0);
    const built = JSON.parse(stdout.trim().split("\n").at(-1)!) as { addon: string; env: Record<string, string> };
    env = { ...built.env, NUDGE_ADDON: built.addon, NUDGE_MEMORY_GB: "0.5" };
    const text = readFileSync(built.addon, "latin1");
    expect(text.includes("__asan_report_load8") && text.includes("__ubsan_handle_out_of_bounds")).toBe(true);
  });

  test.each([0, 1, 2, 3])(
    "accepts unusual arguments, with seed %i after the first",
    { timeout: 1_000_000 },
    async (i) => {
      const log = join(folder, String(i));
      const { stdout } = await run("../fuzz/operator-fuzzer.ts", [log, String(firstSeed + i), "0", String(CASES)]);
      const { cases, unexpected } = JSON.parse(stdout.trim().split("\n").at(-1)!);
      expect({ cases, unexpected }).toEqual({ cases: CASES, unexpected: [] });
    },
  );

  test("refuses calls that crashed earlier versions", { timeout: 1_000_000 }, async () => {
    const { stdout } = await run("../fuzz/once-crashed.ts", []);
    expect(
      stdout
        .trim()
        .split("\n")
        .filter((line) => !line.endsWith("refused")),
    ).toEqual([]);
  });

  test("trains a small network whose steps sometimes fail", { timeout: 1_000_000 }, async () => {
    await run("../leaks/train-small-net.ts", ["100", "7"], ["--expose-gc"]);
  });

  test.each([
    "SWAD-NU --steps 30 data.size=16 warmup=5 swad.converge=2",
    "dann --steps 12 data.size=16",
    "Mixup-NU --steps 12 --backbone resnet18 --no-pretrained data.size=32",
  ])("trains and predicts: %s", { timeout: 1_000_000 }, async (method) => {
    const out = join(folder, "runs", method.split(" ")[0]);
    const words =
      "--data shapes --test-domain textured --eval-every 7 --batch-size 4 --threads 2 data.perCell=3 checkpointEvery=4";
    const nudge = (...args: string[]): Promise<ChildResult> => run("../support/nudge.ts", args);
    await nudge("train", "--algorithm", ...`${method} ${words} --out ${out}`.split(" "));
    const model = join(out, "latest", "model.safetensors");
    const { stdout } = await nudge("predict", model, pictures, "--json");
    expect(stdout.trim().split("\n")).toHaveLength(16);
    await nudge("export", model, "--out", join(out, "model.onnx"));
  });
});
