/** `nudge train --data DIR`, the default: the exact probe, fine-tuned networks, the choice, and what is said of it. */

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { backbones } from "../../src/backbones/index.js";
import { main } from "../../src/cli/main.js";
import { trainRecipe } from "../../src/cli/train-recipe.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { writeWeights } from "../../src/engine/weights.js";
import { quietReporter, type Reporter } from "../../src/training/reporter.js";
import { scene } from "../support/scenes.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-recipe-"));
const root = join(folder, "pictures");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.restoreAllMocks());

/** Sources that even random weights tell apart, by a factor and an offset of the pixels; "copy" has the scenes of "shop". */
const SOURCES = { shop: [0.2, 0, 0], copy: [0.2, 3, 0], street: [0.2, 110, 100], yard: [0.2, 200, 200] } as const;
const PER_CLASS = 6;

beforeAll(async () => {
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "mobilenet_v2.safetensors"));
  for (const [source, [factor, offset, first]] of Object.entries(SOURCES))
    for (const [c, name] of ["mug", "pen"].entries()) {
      mkdirSync(join(root, source, name), { recursive: true });
      for (let i = 0; i < PER_CLASS; i++)
        await scene(first + 20 * c + i)
          .linear(factor, offset)
          .png()
          .toFile(join(root, source, name, `${i}.png`));
    }
  using network = backbones.mobilenet_v2.build({}).initialize(new Random(1));
  scope(() => writeWeights(join(folder, "mobilenet_v2.safetensors"), network.stateDict()));
});

/** Runs a command that succeeds, and returns what it prints. */
async function nudge(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const { code, ...printed } = await exit(...args);
  expect(code, printed.stderr).toBe(0);
  return printed;
}

/** Runs a command and returns its exit code and what it prints. */
async function exit(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed[name] += text;
      return true;
    });
  const code = await main(args);
  vi.restoreAllMocks();
  return { code, ...printed };
}

const settings = ["--device", "cpu", "--threads", "1", "size=64", "evaluationSize=64"];
const train = (...more: string[]) => nudge("train", "--data", root, ...settings, ...more);
const fast = ["--steps", "2", "--batch-size", "2"];
const jsonIn = (run: string, file: string) => JSON.parse(readFileSync(join(run, file), "utf8"));

test("the default compares the exact probe with fine-tuned networks on held-out sources, near-copies together", async () => {
  const out = join(folder, "runs");
  const { stdout, stderr } = await train(...fast, "--out", out);
  const run = join(out, "latest");
  const recipe = jsonIn(run, "recipe.json");
  expect(recipe).toMatchObject({ by: "held-out domains", nearCopies: [["copy", "shop"]] });
  expect(recipe.folds).toEqual([["copy", "shop"], ["street"], ["yard"]]);
  // The stages and their times come before they start; a model is ready before the second.
  expect(stderr).toMatch(/^stage 1: computing the features of 48 pictures .*exact probe$/m);
  expect(stderr).toMatch(/^copy and shop have nearly identical pictures, so they are held out together/m);
  expect(stderr).toMatch(
    /^a model is ready: .*\n(.*\n)*stage 2: fine-tuning: 4 runs of 2 updates of 8 pictures, about /m,
  );
  expect(stderr.match(/^fine-tuning without /gm)).toHaveLength(3);
  // Every candidate has a number on every source, in the terminal, in the file and on the page.
  const names = ["probe and neighbours", "fine-tuned, 25 %", "fine-tuned, 50 %", "fine-tuned, 75 %", "fine-tuned"];
  expect(recipe.candidates.map((each: { name: string }) => each.name)).toEqual(names);
  expect(recipe.alone.map((each: { name: string }) => each.name)).toEqual(["exact probe alone", "neighbours alone"]);
  const page = readFileSync(join(run, "report.html"), "utf8");
  for (const name of [...names, "exact probe alone", "neighbours alone"]) {
    expect(stdout).toMatch(new RegExp(`^  ${name}( \\(chosen\\))?( +\\d+\\.\\d){5}`, "m"));
    expect(page).toContain(name);
  }
  expect(stdout).toMatch(
    /^Plan with \d+\.\d %, the lowest of the 4 held-out domains .* falls as domains are added\.$/m,
  );
  expect(
    jsonIn(run, "estimate.json")
      .domains.map(({ name }: { name: string }) => name)
      .toSorted(),
  ).toEqual(["copy", "shop", "street", "yard"]);
  // The same command finds everything finished.
  const again = await train(...fast, "--out", out);
  expect(again.stdout).toBe(stdout);
  expect(again.stderr).not.toMatch(/^step \d/m);
}, 120_000);

test("without time for fine-tuning, the exact probe is the model, and the output says so", async () => {
  const skipped = /^fine-tuning is skipped: 4 short runs would take about .* of the time budget remained/m;
  const reason =
    /^probe and neighbours: no other candidate was trained, because 4 short runs would take .*--budget 1h for more\)\.$/m;
  const { stdout, stderr } = await train("--budget", "1s", "--out", join(folder, "short"));
  expect(stderr).toMatch(skipped);
  expect(stdout).toMatch(reason);
  expect(readFileSync(join(folder, "short/latest/report.html"), "utf8")).toContain("because 4 short runs would take");
  const again = await train("--budget", "1s", "--out", join(folder, "short"));
  expect(again.stderr.match(skipped)?.[0]).toBe(stderr.match(skipped)![0]);
  expect(again.stdout).toBe(stdout);
}, 60_000);

test("copies of training pictures are recognized in another folder", async () => {
  const fresh = join(folder, "fresh/mug");
  mkdirSync(fresh, { recursive: true });
  for (let i = 0; i < 4; i++) copyFileSync(join(root, "yard/mug", `${i}.png`), join(fresh, `copy${i}.png`));
  for (let i = 0; i < 3; i++)
    await scene(900 + i)
      .png()
      .toFile(join(fresh, `new${i}.png`));
  const evaluate = (...models: string[]) =>
    nudge("eval", ...models, "--data", join(folder, "fresh"), "--device", "cpu");
  const warning =
    /^warning: the model was trained on 4 of these 7 pictures, .*; accuracy on the other 3: \d+\.\d % \(95 % interval/m;
  const run = join(folder, "short/latest");
  expect((await evaluate(run)).stdout).toMatch(warning);
  // In an ensemble, the pictures of all members count, in either order.
  await train("--recipe", "probe", "--test-domain", "yard", "--out", join(folder, "without-yard"));
  const without = join(folder, "without-yard/latest");
  expect((await evaluate(without)).stdout).not.toContain("warning: ");
  expect((await evaluate(run, "--with", without)).stdout).toMatch(warning);
  expect((await evaluate(without, "--with", run)).stdout).toMatch(warning);
});

test("an excluded source is measured, and a near-copy of a training source is reported", async () => {
  const out = join(folder, "excluded");
  const { stdout, stderr } = await train("--recipe", "probe", "--test-domain", "copy", "--out", out);
  expect(stderr).toMatch(/^exact probe on all domains except copy$/m);
  expect(stdout).toMatch(/^ {2}copy +\d+\.\d %/m);
  const note = "copy and shop have nearly identical pictures, so the accuracy on copy says nothing about a new source";
  expect(stderr).toContain(`note: ${note}\n`);
  expect(readFileSync(join(out, "latest/report.html"), "utf8")).toContain(note);
}, 60_000);

test("without leave-one-out, no domains are said to be near-copies, and validation decides", async () => {
  const out = join(folder, "together");
  const { stdout, stderr } = await train("--recipe", "probe", "--no-leave-one-out", "--out", out);
  expect(stderr).not.toContain("nearly identical");
  expect(stderr).toMatch(/^no domain is held out, so the choice is based on validation pictures/m);
  expect(stdout).toContain("No domain was held out, so this says nothing about other domains.");
  expect(jsonIn(join(out, "latest"), "recipe.json")).toMatchObject({ by: "validation", nearCopies: [] });
}, 60_000);

test("trials are refused where nothing is fine-tuned again", async () => {
  for (const option of [["--recipe", "probe"], ["--no-leave-one-out"]]) {
    const { code, stderr } = await exit("train", "--data", root, ...settings, ...option, "--trials", "3");
    expect(code).toBe(2);
    expect(stderr).toContain(
      `--trials repeats the fine-tuning of each held-out domain, and ${option.join(" ")} has none`,
    );
  }
});

test("a picture that cannot be read is reported on the terminal, each time", async () => {
  const data = join(folder, "broken");
  cpSync(root, data, { recursive: true });
  writeFileSync(join(data, "yard/pen/broken.png"), "no picture");
  const command = ["train", "--data", data, ...settings, "--recipe", "probe", "--out", join(folder, "broken-runs")];
  for (let i = 0; i < 2; i++) {
    const { stderr } = await nudge(...command);
    expect(stderr.match(/^note: skipped: 1 picture that cannot be read \(picture .*broken\.png: /gm)).toHaveLength(1);
  }
}, 60_000);

test("stopped during fine-tuning, the ready model is the latest, and an unfinished run says how to continue", async () => {
  const out = join(folder, "stopped");
  let asked = false;
  const reporter: Reporter = {
    ...quietReporter,
    line: (text) => {
      asked = asked || (text.startsWith("run folder: ") && text.includes("-without-"));
    },
  };
  const stop = {
    get asked() {
      return asked;
    },
    [Symbol.dispose]() {},
  };
  const request = { data: root, threads: 1, size: 64, evaluationSize: 64, steps: 2, batchSize: 2 };
  await trainRecipe(request, { recipe: "auto", device: "cpu", out, reporter, stop });
  process.exitCode = undefined; // that of a run that can be resumed
  const names = readdirSync(out).filter((name) => name !== "latest");
  const unfinished = names.find((name) => !existsSync(join(out, name, "done")))!;
  const ready = names.find((name) => name.includes("-exact-probe-"))!;
  expect(unfinished).toContain("-without-");
  expect(readlinkSync(join(out, "latest"))).toBe(ready);
  const { code, stderr } = await exit("predict", join(out, unfinished), join(root, "yard/mug/0.png"));
  expect(code).toBe(1);
  expect(stderr).toContain(
    `has no model.safetensors; the run has not finished: to resume it, run the command that started it again, or choose a run that has a model, such as ${join(out, ready)}\n`,
  );
}, 60_000);

test("the earlier model is the one that a link points to before training, and no run is compared with itself", async () => {
  const out = join(folder, "links");
  const grown = join(folder, "grown");
  cpSync(root, grown, { recursive: true });
  await scene(700).png().toFile(join(grown, "yard/mug/more.png"));
  const probe = ["--recipe", "probe", "--out", out, "--name", "current"];
  await train(...probe);
  const before = realpathSync(join(out, "latest"));
  for (const [link, data] of [
    ["latest", grown],
    ["current", root],
  ]) {
    const earlier = realpathSync(join(out, link));
    const { stdout } = await nudge("train", "--data", data, ...settings, ...probe, "--against", join(out, link));
    expect(stdout).toContain(`Compared with ${earlier} on the same pictures:`);
    expect(realpathSync(join(out, link))).not.toBe(earlier);
  }
  expect(realpathSync(join(out, "latest"))).toBe(before);
  const { code, stderr } = await exit(
    "train",
    "--data",
    root,
    ...settings,
    ...probe,
    "--against",
    join(out, "latest/"),
  );
  expect(code).toBe(2);
  expect(stderr).toContain("these settings and pictures give the same run, so there is nothing to compare");
}, 60_000);
