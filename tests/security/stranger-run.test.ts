/**
 * Run and sweep folders that somebody else made, in commands that write: nothing is written outside the folder through
 * links or paths in its files, and names in it cannot fake lines of a log.
 */

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.js";
import { cancelToken } from "../../src/sweep/cancel-marks.js";
import { work } from "../../src/sweep/work.js";
import { streamReporter } from "../../src/training/reporter.js";
import { RunFolder } from "../../src/training/run-folder.js";
import { makePictureFolder } from "../support/made-pictures.js";
import { catchPrinted } from "../support/printed.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-stranger-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000);
const printed = catchPrinted();
const at = (...names: string[]): string => join(folder, ...names);
const [good, run, outside, pictures] = ["good", "run", "outside", "pictures"].map((name) => at(name));

const SMALL = "--backbone toy-cnn --no-pretrained --algorithm erm --steps 2 --eval-every 1 --batch-size 2 --threads 1";
const train = (...words: string[]): Promise<number> =>
  main(["train", "--data", pictures, "--test-domain", "sketch", ...SMALL.split(" "), "--quiet", ...words]);

beforeAll(async () => {
  process.env.XDG_CACHE_HOME = at("cache-home");
  await makePictureFolder(pictures, { perCell: 3, domains: ["photo", "paint", "sketch"] });
  expect(await train("--out", at("runs"), "--name", "good")).toBe(0);
  cpSync(at("runs/good"), good, { recursive: true, dereference: true });
  rmSync(join(good, "done")); // so that there is something to resume
}, 60_000);

beforeEach(() => {
  for (const each of [run, outside]) rmSync(each, { recursive: true, force: true });
  cpSync(good, run, { recursive: true });
  mkdirSync(outside);
  writeFileSync(at("outside/bashrc"), "# mine\n");
});

/** Every file below a folder with its content and its times. */
const stateOf = (path: string): string[] =>
  readdirSync(path, { recursive: true })
    .map(String)
    .sort()
    .map((name) => {
      const { mtimeMs, ctimeMs, size } = lstatSync(join(path, name));
      return `${name} ${size} ${mtimeMs} ${ctimeMs}`;
    });

/** Replaces an entry of the run by a link. */
function link(name: string, target: string): void {
  rmSync(join(run, name), { recursive: true, force: true });
  mkdirSync(join(run, name, ".."), { recursive: true });
  symlinkSync(target, join(run, name));
}

const FILES = ["log.txt", "records.jsonl", "timing.jsonl", "settings.json", "environment.json", "model.safetensors"];
const FOLDERS = ["figures", "events", "checkpoint", "failure", "lock", "retrained", "lock/now"];

test.each([
  ...FILES.map((name) => [name, "bashrc"]),
  ...FOLDERS.map((name) => [name, "."]),
  ["checkpoint/last.safetensors", "bashrc"],
  [".settings.json.tmp", "bashrc"],
])("resuming refuses a run whose %s is a link, and writes nothing", async (name, target) => {
  if (name === "settings.json") cpSync(join(run, name), at("outside/bashrc")); // so that it can be read
  link(name, join(outside, target));
  const before = stateOf(outside);
  expect(await main(["train", "--resume", run])).toBe(1);
  expect(printed.stderr).toContain(`${JSON.stringify(name)} is a symbolic link`);
  expect(printed.stderr).not.toMatch(/^ {4}at /m);
  expect(stateOf(outside)).toEqual(before);
});

test("a run folder that is a link is refused where a stranger can have put it, and followed where the user names it", async () => {
  symlinkSync(outside, at("runs/away"));
  await expect(RunFolder.own(at("runs/away"))).rejects.toThrow(/it is a symbolic link/);
  expect(() => RunFolder.tryOwn(at("runs/away"))).toThrow(/it is a symbolic link/);
  expect(stateOf(outside)).toHaveLength(1);
  symlinkSync(run, at("runs/mine"));
  expect(await main(["train", "--resume", at("runs/mine"), "--quiet"])).toBe(0);
  expect(existsSync(join(run, "done"))).toBe(true);
});

test("a folder of runs that is a link, and links in the folder of pictures, stay legal", async () => {
  mkdirSync(at("disk"));
  symlinkSync(at("disk"), at("linked-runs"));
  symlinkSync(pictures, at("linked-pictures"));
  const words = `train --data ${at("linked-pictures")} --test-domain sketch ${SMALL} --quiet --out ${at("linked-runs")}`;
  expect(await main(words.split(" "))).toBe(0);
  expect(existsSync(at("disk/latest/done"))).toBe(true);
});

test("the cache that settings name is used only if this user has named it", async () => {
  const settings = JSON.parse(readFileSync(join(run, "settings.json"), "utf8"));
  const cache = at("outside/cache");
  const named = { ...settings, cache, request: { ...settings.request, cache } };
  writeFileSync(join(run, "settings.json"), JSON.stringify(named));
  const before = stateOf(outside);
  expect(await main(["train", "--resume", run, "--quiet"])).toBe(0);
  expect(printed.stderr).toContain("is not used as cache");
  expect(stateOf(outside)).toEqual(before);
  expect(await train("--config", join(run, "settings.json"), "--out", at("again"), "--seed", "1")).toBe(0);
  expect(stateOf(outside)).toEqual(before);
  expect(await train(`cache=${cache}`, "--out", at("again"), "--seed", "2")).toBe(0);
  expect(readdirSync(cache).some((name) => name.startsWith("index-"))).toBe(true);
  rmSync(cache, { recursive: true });
  rmSync(join(run, "done"));
  expect(await main(["train", "--resume", run, "--quiet"])).toBe(0); // the user has named it since
  expect(existsSync(cache)).toBe(true);
});

test("a sweep does not write through links either, nor to the cache that its plan names", async () => {
  const sweep = at("sweep");
  const words = `sweep plan --data ${pictures} --test-domains sketch --algorithms erm --trials 1 --no-measure --out ${sweep}`;
  const settings = "backbone=toy-cnn pretrained=false steps=2 evaluateEvery=1 batchSize=2";
  expect(await main(`${words} ${settings}`.split(" ")), printed.stderr).toBe(0);
  const plan = readFileSync(join(sweep, "plan.jsonl"), "utf8");
  for (const name of ["runs", "launch", "attempts"]) {
    rmSync(join(sweep, name), { recursive: true, force: true });
    symlinkSync(outside, join(sweep, name));
    for (const verb of ["run", "cancel", "retry", "clean", "work"]) {
      const before = stateOf(outside);
      printed.stderr = "";
      expect(await main(["sweep", verb, sweep, ...(verb === "clean" ? ["--unplanned", "--yes"] : [])]), verb).toBe(1);
      expect(printed.stderr, verb).toContain(join(sweep, name));
      expect(stateOf(outside), verb).toEqual(before);
    }
    rmSync(join(sweep, name));
  }
  const { name, request, ...rest } = JSON.parse(plan);
  writeFileSync(
    join(sweep, "plan.jsonl"),
    `${JSON.stringify({ ...rest, name, request: { ...request, cache: at("outside/planned") } })}\n`,
  );
  mkdirSync(join(sweep, "runs"));
  symlinkSync(outside, join(sweep, "runs", name));
  expect(await main(["sweep", "clean", sweep, "--done", "--unplanned", "--yes"])).toBe(0); // a link is no run
  rmSync(join(sweep, "runs", name));
  const rules = { retries: 0, maxFailures: null, only: null, stopHopeless: false };
  const how = { folder: sweep, threads: 1, runs: 1, first: 0, cancelToken: cancelToken(sweep), version: "test" };
  const events: string[] = [];
  const onEvent = ({ event }: { event: string }): void => void events.push(event);
  await work({ ...rules, ...how, shouldStop: () => false, onEvent });
  expect(events).toEqual(["begun", "done", "end"]);
  expect(readdirSync(outside)).toEqual(["bashrc"]);
}, 60_000);

test("names with line breaks stay on their line: in the log, in the output, and in errors", async () => {
  const evil = "red\nnudge: touch PWNED #";
  using owned = await RunFolder.own(at("new"));
  owned.log(`domain ${evil}`);
  const lines = vi.fn();
  streamReporter({ write: lines }).line(`domain ${evil}`);
  expect(readFileSync(at("new/log.txt"), "utf8")).toMatch(/^\S+ domain red\\nnudge: touch PWNED #\n$/);
  expect(lines).toHaveBeenCalledWith("domain red\\nnudge: touch PWNED #\n");
  expect(await main(["report", at(evil)])).not.toBe(0);
  cpSync(pictures, at("evil"), { recursive: true });
  renameSync(at("evil/sketch"), at("evil", evil));
  renameSync(at("evil/photo/x"), at("evil/photo", evil));
  const words = `train --data ${at("evil")} ${SMALL} --out ${at("evil-runs")} --test-domain`;
  expect(await main([...words.split(" "), evil])).toBe(0);
  const model = at("evil-runs/latest");
  for (const command of [
    ["report", at("evil-runs")],
    ["eval", model, "--data", at("evil")],
    ["predict", model, at("evil")],
    ["data", "inspect", at("evil")],
    ["train", "--resume", model],
    ["embed", model, "--data", at("evil"), "--out", at("features")],
  ])
    expect(await main(command), printed.stderr).toBe(0);
  const log = readFileSync(join(model, "log.txt"), "utf8");
  const shown = `${printed.stdout}${printed.stderr}${log}`.split(/[\r\n\u2028]/);
  expect(shown.flatMap((line, i) => (line.startsWith("nudge: touch") ? [`${shown[i - 1]}⏎${line}`] : []))).toEqual([]);
}, 60_000);

test("pipes and devices in a run folder end its readers with the name of the file", { timeout: 120_000 }, () => {
  rmSync(join(run, "records.jsonl"));
  expect(spawnSync("mkfifo", [join(run, "records.jsonl")]).status).toBe(0);
  // In a process of its own: what waits for a pipe waits for ever, and no timer of this process would fire.
  for (const verb of [["report"], ["pack"], ["train", "--resume"]]) {
    const words = [...verb, run, ...(verb[0] === "pack" ? ["--out", at("packed.nudge")] : [])];
    const program = [
      new URL("../support/run-typescript.mjs", import.meta.url),
      new URL("../support/nudge.ts", import.meta.url),
    ];
    const ended = spawnSync(process.execPath, [...program.map(({ pathname }) => pathname), ...words], {
      encoding: "utf8",
      timeout: 30_000,
    });
    expect({ signal: ended.signal, status: ended.status }, words.join(" ")).toEqual({ signal: null, status: 1 });
    expect(ended.stderr).toContain("records.jsonl");
    expect(ended.stderr).toMatch(/a named pipe/);
  }
});
