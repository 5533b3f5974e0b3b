/** `--plugin` from a file to a run, a list and a table; from anywhere on disk, in processes of their own. */

import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { runChild } from "../support/child.js";
import { startNudge } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-plugins-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
const nudge = (...args: readonly string[]) => startNudge(args).ended;
const runIn = (out: string): string => join(out, readdirSync(out)[0]);
const settingsOf = (run: string) => JSON.parse(readFileSync(join(run, "settings.json"), "utf8"));

/** Copies, far from the package: `nudge-dg` must be found from there too. */
const algorithm = join(folder, "spectral-decoupling.mjs");
const sensors = join(folder, "sensors.mjs");
cpSync(example("plugin-algorithm/spectral-decoupling.mjs"), algorithm);
cpSync(example("plugin-dataset/sensors.mjs"), sensors);

const TINY = "--steps 3 --batch-size 4 --threads 1 --quiet".split(" ");

test("a run trains with an algorithm, dataset, backbone and penalty from plug-ins, and reports their files", async () => {
  const out = join(folder, "all");
  const words = "train --data sensors --test-domain hall --algorithm MySD-ABS --backbone gated data.samples=20".split(
    " ",
  );
  const trained = await nudge(...words, "--plugin", algorithm, "--plugin", sensors, ...TINY, "--out", out);
  expect(trained).toMatchObject({ code: 0, stderr: "" });
  const { plugins, ...settings } = settingsOf(runIn(out));
  expect(settings).toMatchObject({ dataset: "sensors", algorithm: "spectral-decoupling", backbone: "gated" });
  expect(plugins.map(({ file }: { file: string }) => file)).toEqual(["sensors.mjs", "spectral-decoupling.mjs"]);
  for (const { sha256 } of plugins) expect(sha256).toMatch(/^[0-9a-f]{64}$/);

  expect((await nudge("report", out)).stdout).toContain("| MySD-ABS "); // the titles that the run has
  const report = await nudge("report", out, "--plugin", algorithm, "--plugin", sensors);
  expect(report.stdout).toContain("| MySD-ABS ");
  expect(report.stdout).toContain("nudge train --plugin sensors.mjs --plugin spectral-decoupling.mjs --data sensors");
});

test("a plug-in imports subpaths of the package, and adds an average of the weights", async () => {
  const last = join(folder, "last.mjs");
  writeFileSync(
    last,
    `import { defineFollower, movingAverage } from "nudge-dg/averaging";
import { count } from "nudge-dg";
class Late {
  id = "late";
  constructor(settings) {
    this.settings = settings;
    this.mean = movingAverage(settings);
  }
  afterUpdate(step, parameters) { this.mean.afterUpdate(step, parameters); }
  atEvaluation() { return "continue"; }
  weights() { return this.mean.weights(); }
  summary() { return this.mean.summary(); }
  state() { return this.mean.state(); }
  loadState(state) { this.mean.loadState(state); }
  dispose() { this.mean.dispose(); }
  [Symbol.dispose]() { this.dispose(); }
}
export const late = defineFollower(
  { id: "late", title: "LATE", paper: "none", evaluated: "always", settings: { start: count(1, "the first step") } },
  (settings) => new Late(settings),
);\n`,
  );
  const out = join(folder, "late");
  const words = "train --data shapes --test-domain filled data.perCell=3 data.size=16 --averaging late late.start=2";
  const trained = await nudge(...words.split(" "), "--plugin", last, ...TINY, "--out", out);
  expect(trained).toMatchObject({ code: 0, stderr: "" });
  const { plugins, averaging } = settingsOf(runIn(out));
  expect(plugins).toMatchObject([{ file: "last.mjs" }]);
  expect(averaging).toMatchObject([{ id: "late", settings: { start: 2 } }]);
});

test("a run that uses nothing of a plug-in equals the run without the plug-in", async () => {
  const out = join(folder, "plain");
  const words = "train --data shapes --test-domain filled data.perCell=3 data.size=16 --algorithm erm".split(" ");
  expect(await nudge(...words, ...TINY, "--out", out)).toMatchObject({ code: 0 });
  const again = await nudge(...words, "--plugin", algorithm, ...TINY, "--out", out);
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toContain(`already done: ${runIn(out)}\n`);
  expect(settingsOf(runIn(out)).plugins).toBeUndefined();
});

test("a run resumes only with the plug-in it was made with, even if the file was moved", async () => {
  const out = join(folder, "resumed");
  const words = "train --data shapes --test-domain filled data.perCell=3 data.size=16 --algorithm MySD".split(" ");
  expect(await nudge(...words, "--plugin", algorithm, ...TINY, "--out", out)).toMatchObject({ code: 0 });
  const run = runIn(out);
  rmSync(join(run, "done"));
  const without = await nudge("train", "--resume", run, "--quiet");
  expect(without.code).toBe(2);
  expect(without.stderr).toContain(`${run} was made with the plug-in spectral-decoupling.mjs (SHA-256 `);

  const changed = join(folder, "changed.mjs");
  cpSync(algorithm, changed);
  appendFileSync(changed, "\n// one line more\n");
  const other = await nudge("train", "--resume", run, "--plugin", changed, "--quiet");
  expect(other.code).toBe(2);
  expect(other.stderr).toContain("if you already do, the file has changed since");
  expect(await nudge(...words, "--plugin", changed, ...TINY, "--out", out)).toMatchObject({ code: 0 });
  expect(readdirSync(out).filter((name) => name !== "latest")).toHaveLength(2); // another plug-in, another run

  const moved = join(folder, "moved.mjs");
  cpSync(algorithm, moved);
  expect(await nudge("train", "--resume", run, "--plugin", moved, "--quiet")).toMatchObject({ code: 0 });
});

test("data is inspected with the dataset of a plug-in", async () => {
  const { stdout } = await nudge("data", "inspect", "sensors", "samples=20", "--plugin", sensors);
  expect(stdout).toContain("Sensors (sensors): 80 samples, 4 domains, 2 classes");
});

test("lists include the definitions of plug-ins", async () => {
  const { stdout } = await nudge("list", "datasets", "--json", "--plugin", sensors);
  expect(JSON.parse(stdout).find(({ id }: { id: string }) => id === "sensors")).toMatchObject({ title: "Sensors" });
});

const ours = (body: string): string =>
  `import { defineAlgorithm, defineRegularizer, hparam, uniform } from "nudge-dg";\n${body}`;
const algorithmWith = (fields: string): string =>
  ours(
    `export default defineAlgorithm({ paper: "", needsDomains: false, hparams: {}, build: () => ({}), ${fields} });`,
  );

const REFUSED: readonly (readonly [which: string, source: string | undefined, words: string])[] = [
  ["that is not there", undefined, "no such file"],
  ["that exports nothing of ours", "export const x = 1;", "it exports no definition made with defineAlgorithm, "],
  ["that fails", "throw new Error('not today');", "it could not be loaded: Error: not today"],
  ["that is not JavaScript", "export const = ;", "it could not be loaded: SyntaxError"],
  ["with an id that is taken", algorithmWith('id: "erm", title: "Mine"'), "has the name of another, erm (ERM)"],
  ["with a title that is taken", algorithmWith('id: "mine", title: "Group-DRO"'), "has the name of another, group-dro"],
  ["without an id", algorithmWith('title: "Mine"'), 'to be a name such as "group-dro", got undefined'],
  ["without a title", algorithmWith('id: "mine"'), "expected the algorithm mine to have a title, got undefined"],
  [
    "without a part",
    algorithmWith('id: "mine", title: "Mine", build: 3'),
    '"build" of the algorithm mine to be a function, got number',
  ],
  [
    "with a hyperparameter that is a bare number",
    algorithmWith('id: "mine", title: "Mine", hparams: { alpha: 3 }'),
    'the hyperparameter "alpha" of the algorithm mine to be declared as hparam(default, range)',
  ],
  [
    "with a penalty that has no weight",
    ours('export const p = defineRegularizer({ id: "p", title: "P", paper: "", hparams: {}, penalty: () => null });'),
    'expected the regularizer p to have the hyperparameter "weight"',
  ],
];

test("invalid plug-ins are refused with a message", async () => {
  const files = REFUSED.map(([, source], i) => {
    const file = join(folder, `refused-${i}.mjs`);
    if (source !== undefined) writeFileSync(file, source);
    return file;
  });
  const loader = new URL("../support/load-plugins.ts", import.meta.url);
  const { stdout, stderr } = await runChild(loader, { args: files, timeout: 30_000 });
  expect(stderr).toBe("");
  const answers = JSON.parse(stdout) as string[];
  for (const [i, [which, , words]] of REFUSED.entries()) {
    expect(answers[i], which).toContain(`UsageError: plug-in ${files[i]}: `);
    expect(answers[i], which).toContain(words);
  }
});

test("a sweep remembers its plug-ins: the command that status prints resumes it, and without them nothing starts", async () => {
  const sweep = join(folder, "sweep");
  const words = [
    "--data",
    "shapes",
    "--algorithms",
    "MySD",
    "--test-domains",
    "filled",
    "--trials",
    "2",
    "--steps",
    "3",
  ];
  const settings = ["batchSize=4", "data.perCell=2", "data.size=16", "--no-measure"];
  const planned = await nudge("sweep", "plan", ...words, ...settings, "--out", sweep, "--plugin", algorithm);
  const command = `nudge sweep run ${sweep} --plugin ${algorithm}`;
  expect(planned.stdout).toContain(`Next:  ${command}\n`);
  const refused = await nudge("sweep", "run", sweep);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain(`name it again: ${command}`);

  const first = await nudge(
    "sweep",
    "run",
    sweep,
    "--plugin",
    algorithm,
    "--runs",
    "1",
    "--jobs",
    "1",
    "--threads",
    "1",
  );
  expect(first.stderr).toContain(`stopped after --runs: 1 of 2 done; resume with: ${command}\n`);
  const { stdout } = await nudge("sweep", "status", sweep);
  const [, printed] = /resume with: nudge (.+)$/m.exec(stdout)!;
  expect(`nudge ${printed}`).toBe(command);
  expect((await nudge("report", sweep)).stdout).toContain(`Run the rest with: ${command}`);
  const resumed = await nudge(...printed.split(" "), "--jobs", "1");
  expect(resumed.code).toBe(0);
  expect(resumed.stderr).toContain("all 2 done");
});
