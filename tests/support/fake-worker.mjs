// Stands in for `nudge sweep work` in tests of the controller: takes runs of the plan by making their folders, is done with
// each after a moment, and misbehaves as $FAKE_WORKER says: "crash" (dies at the first run once), "no-start", "slow".
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [, , , , folder] = process.argv;
const how = process.env.FAKE_WORKER ?? "";
const { CUDA_VISIBLE_DEVICES: gpu } = process.env;
if (gpu) writeFileSync(join(folder, `used-${gpu}`), process.argv[process.argv.indexOf("--device") + 1]);
const tell = (/** @type {object} */ event) => process.stdout.write(`${JSON.stringify(event)}\n`);

if (how === "no-start") {
  process.stderr.write("nudge: the engine cannot be loaded\n");
  process.exit(1);
}
let stop = false;
process.on("SIGTERM", () => {
  stop = true;
});
const lines = readFileSync(join(folder, "plan.jsonl"), "utf8").trimEnd().split("\n");
for (const { id, name } of lines.map((line) => JSON.parse(line))) {
  const run = join(folder, "runs", name);
  mkdirSync(join(folder, "runs"), { recursive: true });
  const crashed = existsSync(join(folder, `crashed-${id}`));
  try {
    mkdirSync(crashed ? join(run, "again") : run); // what only one process can do
  } catch {
    continue;
  }
  tell({ event: "begun", id, resumed: false });
  if (how === "crash" && !crashed) {
    writeFileSync(join(folder, `crashed-${id}`), "");
    await sleep(50);
    process.kill(process.pid, "SIGKILL");
  }
  for (let i = 0; i < (how === "slow" ? 600 : 1) && !stop; i++) await sleep(50);
  if (stop) {
    tell({ event: "stopped", id, step: 3 });
    tell({ event: "end", why: "asked to stop" });
    process.exit(75);
  }
  writeFileSync(join(run, "done"), "{}");
  tell({ event: "done", id, seconds: 0.05 });
  if (process.argv.includes("--runs")) break; // the controller asks for one at a time then
}
tell({ event: "end", why: "nothing left" });
process.exit(0);
