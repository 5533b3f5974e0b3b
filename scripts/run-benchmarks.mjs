#!/usr/bin/env node
/**
 * Runs every benchmark of docs/benchmarks.md, one after the other, and stores the output of each in one file.
 *
 *     node scripts/run-benchmarks.mjs --peer --data pacs --root data --out results/benchmarks/cpu-2-cores.json
 *     node scripts/run-benchmarks.mjs --device cuda:0 --peer --data pacs --root data --out results/benchmarks/h200.json
 *
 * The file is written after each benchmark, and results that are already in it are not run again: an interrupted run
 * resumes with the same command. `--only ops,loader` runs some, even if they are in the file. A benchmark that fails is
 * reported, and the others continue. The record describes the machine without names and paths. After `nudge setup` this
 * also works in a portable build.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { benchmarksFor } from "./benchmarks/list.mjs";
import { textOf } from "./benchmarks/texts.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const USAGE =
  "usage: node scripts/run-benchmarks.mjs --data DIR|NAME [--root DIR] [--device cuda:0] [--peer [python3]] [--only NAMES] --out FILE.json";

/** @param {string} message @returns {never} */
function refuse(message) {
  process.stderr.write(`run-benchmarks: ${message}\n${USAGE}\n`);
  process.exit(2);
}

/** Parses and checks the flags. */
function flags() {
  const args = process.argv.slice(2);
  // --peer without a value means the default Python.
  const peer = args.indexOf("--peer");
  if (peer >= 0 && (args[peer + 1] ?? "--").startsWith("--")) args.splice(peer + 1, 0, "python3");
  const text = /** @type {const} */ ({ type: "string" });
  try {
    const { values } = parseArgs({
      args,
      options: { data: text, root: text, device: text, peer: text, only: text, out: text },
    });
    const { data, out } = values;
    if (data === undefined || out === undefined) return refuse("expected --data and --out");
    return { ...values, data, out, device: values.device ?? "cpu" };
  } catch (error) {
    return refuse(/** @type {Error} */ (error).message);
  }
}

/** The output of a command with --json. Its messages go to the terminal. @param {readonly string[]} words */
function nudge(words) {
  const args = [join(root, "bin/nudge.cjs"), ...words, "--json"];
  const { status, stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 28,
  });
  return status === 0 ? JSON.parse(stdout) : undefined;
}

/** A description of the machine. @param {string} device */
function machineOf(device) {
  const facts = nudge(["doctor"]);
  if (!facts?.engine) return refuse("the engine does not load; see nudge doctor");
  const { nudge: version, node, cores, engine } = facts;
  const gpu = device === "cpu" ? undefined : engine.gpus[Number(device.split(":")[1] ?? 0)];
  if (device !== "cpu" && !gpu) return refuse(`--device ${device}: there is none here; see nudge doctor`);
  const cpu = cpus()[0]?.model.trim() ?? "unknown";
  return {
    cpu,
    cores,
    gpu: gpu?.name ?? null,
    libtorch: engine.version,
    cuda: engine.settings.cuda,
    node,
    nudge: version,
  };
}

/** The fraction of the cores' time that other work takes during two seconds in which this process is idle. */
async function busyShare() {
  const times = () =>
    cpus().map(({ times: { idle, ...rest } }) => ({ idle, work: Object.values(rest).reduce((a, b) => a + b) }));
  const before = times();
  await sleep(2000);
  const passed = times().map(({ idle, work }, i) => ({ idle: idle - before[i].idle, work: work - before[i].work }));
  const sum = (/** @type {"idle" | "work"} */ part) => passed.reduce((total, each) => total + each[part], 0);
  return Number((sum("work") / (sum("work") + sum("idle"))).toFixed(3));
}

const { data, root: folder, device, peer, only, out } = flags();
const requested = only?.split(",");
const pictures = ["--data", data, ...(folder === undefined ? [] : ["--root", folder])];
const benchmarks = benchmarksFor({ device, peer, data: pictures });
for (const name of requested ?? [])
  if (!benchmarks.has(name)) refuse(`--only ${name}: expected some of ${[...benchmarks.keys()].join(", ")}`);

/** Paths of this machine are not recorded: the record contains DIR and python3 instead. @param {string} word */
const withoutPath = (word) =>
  word === folder || (word === data && /[/\\.]/.test(word)) ? "DIR" : word === peer ? "python3" : word;

const machine = machineOf(device);
/** @type {{ format: 1, machine: typeof machine, benchmarks: Record<string, object> }} */
let record = { format: 1, machine, benchmarks: {} };
if (existsSync(out)) {
  record = JSON.parse(readFileSync(out, "utf8"));
  if (JSON.stringify(record.machine) !== JSON.stringify(machine))
    refuse(`${out} is of another machine or version (${JSON.stringify(record.machine)}); give another file`);
}
mkdirSync(dirname(out), { recursive: true });
let failed = 0;
for (const [name, words] of benchmarks) {
  if (requested ? !requested.includes(name) : name in record.benchmarks) continue;
  const command = ["nudge", "bench", ...words.map(withoutPath)].join(" ");
  const busy = await busyShare();
  process.stdout.write(`\n$ ${command}\n`);
  const start = performance.now();
  const result = nudge(["bench", ...words]);
  const seconds = Math.round((performance.now() - start) / 1000);
  if (result === undefined) {
    process.stdout.write(`it failed after ${seconds} s\n`);
    failed++;
    continue;
  }
  process.stdout.write(`${textOf(name, result)}\n(${seconds} s)\n`);
  // In the order of the list.
  const made = {
    ...record.benchmarks,
    [name]: { command, date: new Date().toISOString().slice(0, 10), busy, seconds, result },
  };
  record.benchmarks = Object.fromEntries(
    [...benchmarks.keys()].filter((key) => key in made).map((key) => [key, made[key]]),
  );
  writeFileSync(`${out}.part`, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(`${out}.part`, out);
}
process.stdout.write(`\n${out} has ${Object.keys(record.benchmarks).length} of ${benchmarks.size} benchmarks\n`);
process.exitCode = failed > 0 ? 1 : 0;
