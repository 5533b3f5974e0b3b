#!/usr/bin/env node
/**
 * Measures the default recipe on a source that the whole command never saw. Each source of a folder is withheld in turn: `nudge train` chooses and trains on the
 * other sources, and `nudge eval` evaluates on the withheld one. The exact probe of the same command and plain logistic regression at C = 0.01 on features of
 * 224 pixels are evaluated next to it, and all are compared picture by picture. With --candidates every fine-tuned candidate is evaluated on the withheld source
 * too. The source is then in the folder and excluded with --test-domain, under another name, so that no benchmark is recognised.
 *
 *     node scripts/withheld-sources.mjs --data pictures --out withheld --trials 3 [--only sketch,photo] [--candidates] [-- --budget 20min --device cuda]
 *
 * Rows are printed as soon as they are measured, as a table in Markdown, with means at the end. They are also written to OUT/rows.json, and `--rows OUT/rows.json`
 * prints the means again. Arguments after `--` are passed to `nudge train`. `--trials 1-2` measures the second and the third trial. Runs are kept under --out, and
 * the same command resumes an interrupted measurement. On a machine without Node.js, use the portable archive (docs/recipes/gpu.md):
 *
 *     nudge-portable/nudge doctor && nudge-portable/node nudge-portable/scripts/withheld-sources.mjs --data … --trials 3 -- --device cuda
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
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
    candidates: { type: "boolean", default: false },
    rows: { type: "string" },
  },
});

/** Ends with a usage error. @param {string} why @returns {never} */
function refuse(why) {
  process.stderr.write(`withheld-sources: ${why}\n`);
  process.exit(2);
}

/** The sources of a folder, or a usage error. @param {string | undefined} folder */
function sourcesOf(folder) {
  if (folder === undefined) refuse("name the folder of sources with --data DIR");
  if (!existsSync(folder)) refuse(`--data ${folder}: no such folder`);
  const found = readdirSync(folder)
    .filter((name) => statSync(join(folder, name)).isDirectory() && !name.startsWith("."))
    .sort();
  if (found.length < 2) refuse(`--data ${folder}: expected two sources or more, got ${found.length}`);
  return found;
}

const data = resolve(values.data ?? ".");
const out = resolve(values.out);
const sources = values.rows === undefined ? sourcesOf(values.data) : []; // kept rows need no pictures
const [, from, to] =
  /^(?:(\d+)-)?(\d+)$/.exec(values.trials) ?? refuse(`--trials ${values.trials}: expected a number or a range`);
const [first, last] = from === undefined ? [0, Number(to) - 1] : [Number(from), Number(to)];
const wanted = values.only?.split(",") ?? sources;
const unknown = wanted.find((name) => !sources.includes(name));
if (unknown !== undefined) refuse(`--only ${unknown}: the sources are ${sources.join(", ")}`);

/** The name of a withheld source that is in the folder all the same. @param {string} source */
const withheldName = (source) => `withheld-${source}`;

/** Creates a folder with links to some sources, and to one that is to be withheld. @param {string} name @param {string[]} some @param {string} [withheld] */
function linked(name, some, withheld) {
  const folder = join(out, "data", name);
  mkdirSync(folder, { recursive: true });
  const links = some.map((source) => [source, source]);
  if (withheld !== undefined) links.push([withheld, withheldName(withheld)]);
  for (const [source, link] of links)
    if (!existsSync(join(folder, link))) symlinkSync(join(data, source), join(folder, link));
  return folder;
}

/** The JSON that a command prints. @param {string[]} args */
function nudge(args) {
  process.stderr.write(`nudge ${args.join(" ")}\n`);
  const { status, stdout } = spawnSync(process.execPath, [NUDGE, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) {
    process.stderr.write(`withheld-sources: nudge ${args[0]} ended with ${status}; the same command resumes\n`);
    process.exit(status ?? 1);
  }
  return JSON.parse(stdout);
}

/** An option that is passed on, with its value. @param {string} name */
const passed = (name) => (extra.includes(name) ? [name, extra[extra.indexOf(name) + 1]] : []);
const device = passed("--device");
const network = passed("--backbone");
const percent = (/** @type {number} */ share) => (100 * share).toFixed(1);

/** Writes a file completely or not at all. @param {string} path @param {unknown} value */
function write(path, value) {
  writeFileSync(`${path}.tmp`, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(`${path}.tmp`, path);
}

/** The result for one withheld source in one trial, measured or read from an earlier call. @param {string} withheld @param {number} trial */
function measured(withheld, trial) {
  const file = join(out, `${withheld}-trial${trial}.json`);
  const found = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  if (found && (!values.candidates || found.candidates)) return found;
  const others = sources.filter((name) => name !== withheld);
  const alone = linked(`only-${withheld}`, [withheld]);
  const without = linked(`without-${withheld}`, others);
  const runs = join(out, "runs", `without-${withheld}-trial${trial}`);
  const train = ["train", "--seed", String(trial), "--trial-seed", String(trial), "--out", runs, "--json"];
  const data = values.candidates
    ? ["--data", linked(`with-${withheld}`, others, withheld), "--test-domain", withheldName(withheld)]
    : ["--data", without];
  const begun = performance.now();
  const made = nudge([...train, ...data, ...extra]);
  const seconds = Math.round((performance.now() - begun) / 1000);
  const plainArgs = ["--probe", "--no-leave-one-out", "probeC=0.01", "evaluationSize=224", ...network, ...device];
  const plain = nudge([...train, "--data", without, ...plainArgs]);
  const against = (/** @type {string} */ other) =>
    nudge(["eval", made.run, "--data", alone, "--against", other, "--json", ...device]).against.overall;
  const toProbe = made.run === made.probe ? null : against(made.probe);
  /** @type {any} */
  const row = { withheld, trial, seconds, made, toProbe, toPlain: against(plain.run) };
  if (values.candidates)
    row.candidates =
      made.recipe.withheld ?? nudge([...train, ...data, "--recipe", "finetune", ...extra]).recipe.withheld ?? [];
  write(file, row);
  return row;
}

/** @param {any} found */
const rowOf = ({ withheld, trial, seconds, made, toProbe, toPlain, candidates = [] }) => ({
  withheld,
  trial,
  pictures: toPlain.count,
  auto: toPlain.second.accuracy,
  probe: toProbe === null ? toPlain.second.accuracy : toProbe.first.accuracy,
  plain: toPlain.first.accuracy,
  candidates: Object.fromEntries(
    candidates.map((/** @type {{ coefficient: number, accuracy: number }} */ each) => [
      each.coefficient,
      each.accuracy,
    ]),
  ),
  difference: toPlain.difference,
  interval: toPlain.interval,
  recipe: made.recipe.candidates.find((/** @type {{ chosen: boolean }} */ each) => each.chosen).name,
  c: made.recipe.c,
  steps: made.recipe.steps,
  lowest:
    made.heldOut.length > 0
      ? Math.min(...made.heldOut.map((/** @type {{ accuracy: number }} */ each) => each.accuracy))
      : null,
  seconds,
});

/** @typedef {ReturnType<typeof rowOf>} Row */
const COEFFICIENTS = ["0.25", "0.5", "0.75", "1"];
const print = (/** @type {string[]} */ cells) => process.stdout.write(`| ${cells.join(" | ")} |\n`);
const printHead = (/** @type {string[]} */ cells) => {
  print(cells);
  process.stdout.write(`|${cells.map(() => " --- |").join("")}\n`);
};

/** Prints the table of all rows as they are measured. @param {string[]} wanted @param {number} first @param {number} last @returns {Row[]} */
function measureAll(wanted, first, last) {
  /** @type {Row[]} */
  const rows = [];
  printHead([
    "withheld",
    "trial",
    "auto",
    "exact probe",
    "C = 0.01",
    "auto − C = 0.01",
    "recipe",
    "C",
    "steps",
    "lowest estimate",
    "time",
  ]);
  for (let trial = first; trial <= last; trial++)
    for (const withheld of wanted) {
      const row = rowOf(measured(withheld, trial));
      rows.push(row);
      write(join(out, "rows.json"), rows);
      print([
        ...[row.withheld, String(row.trial), percent(row.auto), percent(row.probe), percent(row.plain)],
        `${percent(row.difference)} (${percent(row.interval[0])} to ${percent(row.interval[1])})`,
        ...[row.recipe, String(row.c), String(row.steps)],
        row.lowest === null ? "none" : percent(row.lowest),
        `${row.seconds} s`,
      ]);
    }
  return rows;
}

const mean = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;

/** A mean over trials with its standard error, if there are several: the population's deviation over √trials, as in the tables of `nudge report`. @param {number[]} trials */
function meanText(trials) {
  if (trials.length < 2) return percent(mean(trials));
  const squares = trials.map((each) => (each - mean(trials)) ** 2);
  return `${percent(mean(trials))} ± ${percent(Math.sqrt(mean(squares) / trials.length))}`;
}

/** Prints means over trials: one line per source, and the mean over sources. @param {Row[]} rows */
function printMeans(rows) {
  const names = [...new Set(rows.map(({ withheld }) => withheld))];
  const trials = [...new Set(rows.map(({ trial }) => trial))];
  const some = COEFFICIENTS.filter((each) => rows.every(({ candidates }) => candidates[each] !== undefined));
  /** @type {((row: Row) => number)[]} */
  const columns = [
    ({ auto }) => auto,
    ({ probe }) => probe,
    ...some.map((each) => (/** @type {Row} */ row) => row.candidates[each]),
    ({ plain }) => plain,
  ];
  const shares = some.map((each) => `${100 * Number(each)} %`);
  printHead(["withheld", "pictures", "auto", "exact probe", ...shares, "C = 0.01", "chosen in each trial", "seconds"]);
  for (const name of names) {
    const own = rows.filter(({ withheld }) => withheld === name);
    const texts = columns.map((of) => meanText(own.map(of)));
    const chosen = own.map(({ recipe }) => recipe.replace("fine-tuned, ", "").replace("fine-tuned", "100 %"));
    const seconds = own.map((row) => row.seconds).sort((a, b) => a - b);
    print([
      name,
      String(own[0].pictures),
      ...texts,
      chosen.join(", "),
      [...new Set([seconds[0], seconds.at(-1)])].join(" to "),
    ]);
  }
  const means = columns.map((of) =>
    meanText(trials.map((trial) => mean(rows.filter((row) => row.trial === trial).map(of)))),
  );
  print(["mean", "", ...means, "", ""]);
}

if (values.rows !== undefined) printMeans(JSON.parse(readFileSync(values.rows, "utf8")));
else {
  const rows = measureAll(wanted, first, last);
  process.stdout.write("\nmeans over trials:\n\n");
  printMeans(rows);
}
