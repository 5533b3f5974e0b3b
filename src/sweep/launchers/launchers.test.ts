import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/support/picture-folder.js";
import { finishRun, writeSweep } from "../../../tests/support/sweeps.js";
import { option, text, whole } from "../../options.js";
import { type LaunchOptions, launch } from "../launch.js";
import { defineLauncher } from "./define-launcher.js";
import { visibleGpus } from "./gpus.js";
import { type Launcher, launcherNamed, launchers } from "./index.js";
import { slurmScript } from "./slurm-script.js";

const fakeWorker = fileURLToPath(new URL("../../../tests/support/fake-worker.mjs", import.meta.url));

/** Launches a test sweep whose first run is done; returns the messages and the output. */
async function tryLaunch(launcher: Launcher, options: Record<string, unknown> = {}, more: Partial<LaunchOptions> = {}) {
  const folder = temporaryFolder();
  const runs = writeSweep(folder, 3);
  finishRun(folder, runs[0]);
  const [said, printed]: [string[], string[]] = [[], []];
  const launched = await launch({
    folder,
    launcher,
    options,
    rules: { retries: 2, maxFailures: null, only: null, stopHopeless: false },
    program: ["/opt/my node/nudge"],
    most: null,
    stay: true,
    stop: { level: 0 },
    say: (line) => said.push(line),
    print: (line) => printed.push(line),
    ...more,
  });
  return { folder, runs, launched, said, printed };
}

test("print writes a command for each run that waits, as a shell reads it back", async () => {
  const { folder, runs, launched, printed } = await tryLaunch(launchers.print, {}, { device: "cuda:1" });
  expect(launched).toEqual({ end: "handed over", runs: 3, done: 1 });
  const words = printed.map((line) =>
    execFileSync("sh", ["-c", `for word in ${line}; do echo "$word"; done`], { encoding: "utf8" })
      .trimEnd()
      .split("\n"),
  );
  expect(words).toEqual(
    runs
      .slice(1)
      .map(({ id }) => [
        ...[
          "/opt/my node/nudge",
          "sweep",
          "run",
          folder,
          "--only",
          id,
          "--launcher",
          "local",
          "--jobs",
          "1",
          "--no-stay",
        ],
        ...["--device", "cuda:1", "--retries", "2", "--threads", "1"],
      ]),
  );
});

test("a custom launcher has its options parsed, and receives the fixed number of threads", async () => {
  const seen: unknown[] = [];
  const own = defineLauncher({
    id: "own",
    about: "For this test.",
    options: { queue: option(text, "the queue"), nodes: option(whole(1), "how many") },
    async launch(context, { queue = "usual", nodes }) {
      seen.push(queue, nodes, context.waiting().length, context.threads(3), context.threads(5));
      return "handed over";
    },
  });
  const { said } = await tryLaunch(own, { nodes: "2" });
  expect(seen).toEqual(["usual", 2, 2, 3, 3]);
  expect(said.join("\n")).toContain("note: 3 threads per run, as in the first launch of this sweep");
  await expect(tryLaunch(own, { qeue: "x" })).rejects.toThrow(
    'unknown option of launcher own "qeue": did you mean "queue"?',
  );
  await expect(tryLaunch(own, { nodes: "many" })).rejects.toThrow(
    'own: nodes: expected an integer of at least 1, got "many"',
  );
  await expect(tryLaunch(launchers.print, { queue: "x" })).rejects.toThrow(
    'launcher print has no options, got "queue"',
  );
});

test("an unknown launcher is an error that suggests the nearest name", () => {
  expect(() => launcherNamed("slrum")).toThrow('unknown launcher "slrum": did you mean "slurm"?');
});

/** A folder with programs that have these names and contents. */
function programs(texts: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(texts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${content}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test("GPUs are those that are left visible, else all that the driver lists, by their UUIDs", () => {
  const PATH = programs({ "nvidia-smi": "echo GPU-aa-1; echo GPU-bb-2; echo 'No devices'" });
  expect(visibleGpus({ PATH: `${PATH}:/bin` })).toEqual(["GPU-aa-1", "GPU-bb-2"]);
  expect(visibleGpus({ PATH: `${PATH}:/bin`, CUDA_VISIBLE_DEVICES: "3, GPU-cc" })).toEqual(["3", "GPU-cc"]);
  expect(visibleGpus({ PATH: `${PATH}:/bin`, CUDA_VISIBLE_DEVICES: "" })).toEqual([]);
  expect(visibleGpus({ PATH: "/nowhere" })).toEqual([]);
});

test("each GPU gets a process that sees it alone", async () => {
  const path = process.env.PATH;
  process.env.PATH = `${programs({ "nvidia-smi": "echo GPU-aa-1; echo GPU-bb-2" })}:${path}`;
  try {
    const program = [process.execPath, fakeWorker];
    const { folder, said, launched } = await tryLaunch(launchers.gpus, {}, { program });
    expect(launched).toMatchObject({ end: "settled", done: 3 });
    expect(said).toContain("one run at a time on each of 2 GPUs");
    for (const gpu of ["GPU-aa-1", "GPU-bb-2"]) expect(readFileSync(join(folder, `used-${gpu}`), "utf8")).toBe("cuda");
    await expect(tryLaunch(launchers.gpus, { gpus: "0,2" })).rejects.toThrow(
      "there is no GPU 2; there are 2, numbered from 0",
    );
  } finally {
    process.env.PATH = path;
  }
});

test("a batch script has every option by Slurm's name for it, and is one that bash can read", () => {
  const script = slurmScript({
    name: "nudge-table1",
    tasks: 7,
    warning: 90,
    logs: "/data/100% mine/logs",
    command: ["/opt/my node/nudge", "sweep", "slurm-task", "it's"],
    partition: "gpu",
    account: "lab",
    qos: "long",
    gres: "gpu:a100:1",
    constraint: "a100&ib",
    cpus_per_task: 8,
    mem_gb: 1.5,
    timeout_min: 240,
    array_parallelism: 4,
    setup: ["module load cuda", "source env.sh"],
    extra: ["--exclude=node7"],
  });
  expect(script).toBe(`#!/bin/bash
#SBATCH --job-name=nudge-table1
#SBATCH --array=0-6%4
#SBATCH --output="/data/100%% mine/logs/%A_%a.log"
#SBATCH --open-mode=append
#SBATCH --partition=gpu
#SBATCH --account=lab
#SBATCH --qos=long
#SBATCH --gres=gpu:a100:1
#SBATCH --constraint="a100&ib"
#SBATCH --cpus-per-task=8
#SBATCH --mem=1536M
#SBATCH --time=240
#SBATCH --requeue
#SBATCH --signal=B:USR2@90
#SBATCH --exclude=node7

module load cuda
source env.sh
exec '/opt/my node/nudge' sweep slurm-task 'it'\\''s' --first "$SLURM_ARRAY_TASK_ID"
`);
  execFileSync("bash", ["-n"], { input: script });
  expect(() => slurmScript({ name: 'a"b', tasks: 1, warning: 1, logs: "/", command: [], cpus_per_task: 1 })).toThrow(
    "cannot be given to sbatch",
  );
});

test("without Slurm, the launcher says where to run it", async () => {
  const path = process.env.PATH;
  process.env.PATH = programs({});
  try {
    await expect(tryLaunch(launchers.slurm)).rejects.toThrow(
      "the command scontrol was not found. Run this on a login node",
    );
  } finally {
    process.env.PATH = path;
  }
});
