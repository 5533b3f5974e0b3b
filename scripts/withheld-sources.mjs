#!/usr/bin/env node
/**
 * What the default recipe gives on a source that the whole command never saw: each source of a folder is withheld in turn, `nudge train` chooses
 * and trains on the others, and `nudge eval` measures on the one withheld; beside it the exact probe of the same command, and plain
 * logistic regression at C = 0.01 on features of 224 pixels, each compared picture by picture.
 *
 *     node scripts/withheld-sources.mjs --data pictures --out withheld [--trials 3] [--only sketch] [-- --budget 20min --device cuda]
 *
 * What stands after `--` goes to `nudge train`. Runs are kept under --out, so that a stopped measurement resumes; the rows so far
 * are in --out/rows.json.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const NUDGE = join(dirname(dirname(fileURLToPath(import.meta.url))), "bin/nudge.mjs");
const at = process.argv.indexOf("--");
const extra = at < 0 ? [] : process.argv.slice(at + 1);
const { values } = parseArgs({
  args: process.argv.slice(2, at < 0 ? undefined : at),
  options: {
    data: { type: "string" },
    out: { type: "string", default: "withheld" },
    trials: { type: "string", default: "1" },
    only: { type: "string" },
  },
});
if (values.data === undefined) {
  process.stderr.write("withheld-sources: name the folder of sources with --data DIR\n");
  process.exit(2);
}
const data = resolve(values.data);
const out = resolve(values.out);
const sources = readdirSync(data)
  .filter((name) => statSync(join(data, name)).isDirectory() && !name.startsWith("."))
  .sort();

/** A folder of links to some sources. */
function linked(/** @type {string} */ name, /** @type {string[]} */ some) {
  const folder = join(out, "data", name);
  mkdirSync(folder, { recursive: true });
  for (const source of some)
    if (!existsSync(join(folder, source))) symlinkSync(join(data, source), join(folder, source));
  return folder;
}

/** The JSON that a command prints. */
function nudge(/** @type {string[]} */ args) {
  process.stderr.write(`nudge ${args.join(" ")}\n`);
  const { status, stdout } = spawnSync(process.execPath, [NUDGE, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`nudge ${args[0]} ended with ${status}`);
  return JSON.parse(stdout);
}

const device = extra.includes("--device") ? ["--device", extra[extra.indexOf("--device") + 1]] : [];
const percent = (/** @type {number} */ share) => (100 * share).toFixed(1);
/** @type {Record<string, unknown>[]} */
const rows = [];
for (let trial = 0; trial < Number(values.trials); trial++)
  for (const withheld of sources) {
    if (values.only !== undefined && values.only !== withheld) continue;
    const others = linked(
      `without-${withheld}`,
      sources.filter((name) => name !== withheld),
    );
    const alone = linked(`only-${withheld}`, [withheld]);
    const runs = join(out, "runs", `without-${withheld}-trial${trial}`);
    const seeds = ["--seed", String(trial), "--trial-seed", String(trial)];
    const file = join(out, `${withheld}-trial${trial}.json`);
    if (!existsSync(file)) {
      const begun = performance.now();
      const made = nudge(["train", "--data", others, "--out", runs, "--json", ...seeds, ...extra]);
      const seconds = Math.round((performance.now() - begun) / 1000);
      const plainArgs = ["--probe", "--no-leave-one-out", "probeC=0.01", "evaluationSize=224", "--json", ...seeds];
      const plain = nudge(["train", "--data", others, "--out", runs, ...plainArgs, ...device]);
      const against = (/** @type {string} */ other) =>
        nudge(["eval", made.run, "--data", alone, "--against", other, "--json", ...device]).against.overall;
      const toProbe = made.run === made.probe ? null : against(made.probe);
      const toPlain = against(plain.run);
      writeFileSync(file, `${JSON.stringify({ withheld, trial, seconds, made, toProbe, toPlain }, null, 2)}\n`);
    }
    const { seconds, made, toProbe, toPlain } = JSON.parse(readFileSync(file, "utf8"));
    const estimate = made.heldOut.map((/** @type {{ accuracy: number }} */ each) => each.accuracy);
    rows.push({
      withheld,
      trial,
      pictures: toPlain.count,
      auto: toPlain.second.accuracy,
      probe: toProbe === null ? toPlain.second.accuracy : toProbe.first.accuracy,
      plain: toPlain.first.accuracy,
      difference: toPlain.difference,
      interval: toPlain.interval,
      recipe: made.recipe.candidates.find((/** @type {{ chosen: boolean }} */ each) => each.chosen).name,
      c: made.recipe.c,
      steps: made.recipe.steps,
      lowest: estimate.length > 0 ? Math.min(...estimate) : null,
      seconds,
    });
    writeFileSync(join(out, "rows.json"), `${JSON.stringify(rows, null, 2)}\n`);
  }

const head = [
  "withheld",
  "trial",
  "pictures",
  "auto",
  "exact probe",
  "C = 0.01",
  "auto − C = 0.01",
  "recipe",
  "C",
  "steps",
  "lowest estimate",
  "time",
];
const cells = rows.map((/** @type {any} */ row) => [
  row.withheld,
  String(row.trial),
  String(row.pictures),
  percent(row.auto),
  percent(row.probe),
  percent(row.plain),
  `${percent(row.difference)} (${percent(row.interval[0])} to ${percent(row.interval[1])})`,
  row.recipe,
  String(row.c),
  String(row.steps),
  row.lowest === null ? "none" : percent(row.lowest),
  `${row.seconds} s`,
]);
const mean = (/** @type {string} */ key) => percent(rows.reduce((sum, row) => sum + Number(row[key]), 0) / rows.length);
cells.push(["mean", "", "", mean("auto"), mean("probe"), mean("plain"), "", "", "", "", "", ""]);
process.stdout.write(`| ${head.join(" | ")} |\n|${head.map(() => " --- |").join("")}\n`);
for (const row of cells) process.stdout.write(`| ${row.join(" | ")} |\n`);
