/** Pictures of one's own, from a folder to a model, its report and what it says of pictures; and the same by a probe. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Assessment, readAssessment } from "../../src/analysis/assessment.js";
import { main } from "../../src/cli/main.js";
import { trainPlans } from "../../src/cli/train-plans.js";
import type { PictureDataset } from "../../src/data/dataset.js";
import { liveTensors } from "../../src/engine/device.js";
import { loadModel } from "../../src/model/index.js";
import { plansFor } from "../../src/own-data/plans.js";
import { evaluatedRuns, readRun } from "../../src/records/run.js";
import { resolve } from "../../src/settings/resolve.js";
import { quietReporter } from "../../src/training/reporter.js";
import { RunFolder } from "../../src/training/run-folder.js";
import { train } from "../../src/training/train.js";
import { openBrowser, watchPage } from "../support/chromium.js";
import { makePictureFolder } from "../support/made-pictures.js";
import { writePictures } from "../support/picture-folder.js";
import { makeScenes } from "../support/scenes.js";

const browser = await openBrowser();
const folder = mkdtempSync(join(tmpdir(), "nudge-own-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.restoreAllMocks());

const SMALL = [
  "--backbone",
  "toy-cnn",
  "--threads",
  "1",
  "--no-pretrained",
  "--batch-size",
  "2",
  "--steps",
  "3",
  "--eval-every",
  "1",
];
const out = join(folder, "runs");
let pictures: PictureDataset;
let printed = "";

beforeAll(async () => {
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  pictures = await makePictureFolder(join(folder, "pictures"), { perCell: 6, domains: ["shop", "street", "yard"] });
  writeFileSync(join(pictures.root, "yard", "y", "broken.png"), "no picture");
});

/** Runs a command and returns what it prints. */
async function nudge(...args: string[]): Promise<string> {
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
  expect(await main(args)).toBe(0);
  vi.restoreAllMocks();
  return printed;
}

const probe = (...more: string[]): Promise<string> =>
  nudge("train", "--data", pictures.root, "--probe", "sgd", ...SMALL, "--out", out, "--quiet", ...more);

test("a probe trains a model on all domains and reports its accuracy on each held-out domain", async () => {
  const before = liveTensors();
  const answer = JSON.parse(await probe("--json"));
  expect(liveTensors()).toBe(before);
  expect(answer.heldOut.map(({ domain, count }: { domain: string; count: number }) => [domain, count])).toEqual([
    ["shop", 12],
    ["street", 12],
    ["yard", 12], // and the broken one is left out
  ]);
  expect(readdirSync(out)).toHaveLength(5); // latest among them
  for (const file of ["model.safetensors", "report.html", "assessment.json", "estimate.json", "done"])
    expect(existsSync(join(answer.run, file)), file).toBe(true);
  const page = readFileSync(answer.report, "utf8");
  expect(page).toContain("held-out domain");
  expect(page).toContain("data:image/webp;base64,");
  expect(page).toContain("skipped: 1 picture that cannot be read (&quot;yard/y/broken.png&quot;)");
});

test("an unreadable picture is reported once, whatever the number of runs", async () => {
  let told = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += text;
    return true;
  });
  const data = ["--data", pictures.root, "--probe", "sgd", ...SMALL, "--out", join(folder, "told")];
  const text = await nudge("train", ...data);
  expect(told.match(/^run \d of 4/gm)).toHaveLength(4);
  expect(told.match(/^note: .*/gm)?.filter((note) => note.includes("cannot be read"))).toEqual([
    expect.stringMatching(
      /^note: skipped: 1 picture that cannot be read \(picture .*broken\.png: could not be decoded: /,
    ),
  ]);
  expect(text).toMatch(/^use it: nudge predict \S+\/latest PICTURES$/m);
  rmSync(join(folder, "told"), { recursive: true });
});

test("domains with the same pictures are reported, because each is held out alone; a pair may follow --probe", async () => {
  const root = join(folder, "copies");
  await makeScenes(root, { perCell: 8, domains: ["shop", "street"], classes: ["mug", "pen"] });
  for (const name of ["mug", "pen"]) {
    mkdirSync(join(root, "again", name), { recursive: true });
    for (let i = 0; i < 8; i++)
      await sharp(join(root, "shop", name, `${i}.png`))
        .jpeg({ quality: 60 })
        .toFile(join(root, "again", name, `${i}.jpg`));
  }
  let told = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += text;
    return true;
  });
  const small = ["--backbone", "toy-cnn", "--no-pretrained", "--threads", "1"];
  const answer = await nudge(
    "train",
    "--data",
    root,
    ...small,
    "--out",
    join(root, "runs"),
    "--json",
    "--probe",
    "probeC=0.1",
  );
  // To random weights, the scenes of all domains are alike.
  const note =
    /again and shop( and street)? have nearly identical pictures, and each was held out alone, so the estimate/;
  expect(told.match(new RegExp(note, "g"))).toHaveLength(1);
  const { run } = JSON.parse(answer);
  expect(readFileSync(join(run, "report.html"), "utf8")).toMatch(note);
  expect(JSON.parse(readFileSync(join(run, "settings.json"), "utf8"))).toMatchObject({ probe: "exact", probeC: 0.1 });
});

test("the same command resumes interrupted runs", async () => {
  const broken = readdirSync(out).filter(
    (name) => name !== "latest" && (!name.includes("-without-") || name.includes("-yard-")),
  );
  const files = ["records.jsonl", "model.safetensors"].flatMap((file) => broken.map((name) => join(out, name, file)));
  const before = files.map((file) => readFileSync(file));
  for (const name of broken) rmSync(join(out, name, "done"));
  await probe();
  for (const [i, file] of files.entries()) expect(readFileSync(file).equals(before[i]), file).toBe(true);
  expect(broken.every((name) => existsSync(join(out, name, "done")))).toBe(true);
});

test("a run of an earlier version without a fingerprint of its pictures is not used for other pictures", async () => {
  const name = readdirSync(out).find((each) => each.includes("-yard-"))!;
  const old = join(folder, "old");
  cpSync(join(out, name), old, { recursive: true });
  const { pictures: _, ...settings } = JSON.parse(readFileSync(join(old, "settings.json"), "utf8"));
  writeFileSync(join(old, "settings.json"), JSON.stringify({ ...settings, hash: "0123456789abcdef" }));
  let told = "";
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += text;
    return true;
  });
  expect(await main(["train", "--resume", old])).toBe(2);
  expect(told).toMatch(
    /: the run cannot be resumed: pictures is not the same as at its start .* An earlier version started this run .*: train again\n$/,
  );
});

test("if it is stopped before the first run, it does not report that anything is done", async () => {
  const plans = await plansFor({ data: pictures.root, probe: true, backbone: "toy-cnn", steps: 3 }, { device: "cpu" });
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed = String(text);
    return true;
  });
  const stop = { asked: true, [Symbol.dispose]() {} };
  await trainPlans(plans, { out: join(folder, "never"), json: true, reporter: quietReporter, stop });
  process.exitCode = undefined; // that of a run that can go on
  const { run, hash, ...rest } = JSON.parse(printed);
  expect(rest).toEqual({ done: false });
  expect(existsSync(run)).toBe(false);
});

test("the same command also resumes a single model", async () => {
  const alone = join(folder, "alone");
  const command = ["train", "--data", pictures.root, "--no-leave-one-out", ...SMALL, "--out", alone, "--quiet"];
  await nudge(...command);
  const run = join(alone, readdirSync(alone)[0]);
  const before = readFileSync(join(run, "model.safetensors"));
  rmSync(join(run, "done"));
  expect(await nudge(...command)).toMatch(/\ndone: /);
  expect(readFileSync(join(run, "model.safetensors")).equals(before)).toBe(true);
});

test("the same command again trains nothing and prints the same", async () => {
  const text = await probe();
  expect(text).toContain("Accuracy on held-out domains");
  expect(text).toMatch(/\nalready done: .+\n$/);
});

test("the model of a probe predicts pictures as in its assessment", async () => {
  const run = readdirSync(out).find((name) => name.includes("-street-"))!;
  const assessment: Assessment = readAssessment(join(out, run, "assessment.json"));
  const held = assessment.domains.find(({ part }) => part === "held out")!;
  using model = await loadModel(join(out, run));
  expect(model.about.backboneOptions.probe).toBe(true);
  const street = pictures.domains[1];
  const confusion = model.classes.map(() => model.classes.map(() => 0));
  const paths = street.files.map((file) => join(pictures.root, file));
  for await (const { place, prediction } of model.predictEach(paths))
    confusion[street.labels[place]][model.classes.indexOf(prediction!.label)]++;
  expect(confusion).toEqual(held.confusion);
  const wrong = assessment.mostWrong.filter(({ part }) => part === "held out");
  expect(new Set(wrong.map(({ confidence }) => confidence.toFixed(12))).size).toBeGreaterThan(2);
  for (const { path, predicted, confidence } of wrong) {
    const { label, probability } = await model.predict(join(pictures.root, path));
    expect(label).toBe(predicted);
    expect(Math.abs(probability - confidence)).toBeLessThan(1e-5);
  }
});

test("tables include probes with held-out domains, and exclude those on all domains", () => {
  const names = readdirSync(out).filter((name) => name !== "latest");
  const runs = names.map((name) => evaluatedRuns(readRun(join(out, name))));
  expect(runs.flatMap(({ notes }) => notes)).toEqual([]);
  const rows = runs.flatMap((each) => each.runs.map(({ testDomains, method }) => [testDomains.length, method.fixed]));
  expect(rows.filter(([count]) => count === 1)).toHaveLength(3);
  for (const [, fixed] of rows) expect(fixed).toMatchObject({ probe: true });
});

test("a stopped probe resumes to the same bytes, and has its network under each map of an algorithm with two", async () => {
  const request = { data: pictures.root, probe: true, testDomains: "shop", backbone: "toy-cnn", pretrained: false };
  const method = { algorithm: "mdsdi", regularizers: "nuclear-norm", averaging: "swad" };
  const plan = await resolve({
    ...request,
    ...method,
    batchSize: 2,
    steps: 5,
    evaluateEvery: 2,
    threads: 1,
    keepCheckpoint: true,
  });
  const trainIn = async (name: string, stopAfter?: number): Promise<string> => {
    using run = await RunFolder.own(join(folder, name));
    let asked = 0;
    await train({ plan, folder: run, shouldStop: () => ++asked === stopAfter });
    return run.path;
  };
  const calm = await trainIn("calm");
  await trainIn("rough", 3);
  const rough = await trainIn("rough");
  for (const file of ["records.jsonl", "model.safetensors", "checkpoint/last.safetensors"])
    expect(readFileSync(join(rough, file)).equals(readFileSync(join(calm, file))), file).toBe(true);
  using model = await loadModel(calm);
  expect({ model: model.about.model, width: model.width }).toEqual({ model: "swad", width: 2 * 8 });
  const { features } = await model.predict(join(pictures.root, pictures.domains[0].files[0]));
  expect(features).toHaveLength(2 * 8);
});

test("wherever a probe is stopped, its model file is complete or absent", async () => {
  const request = { data: pictures.root, probe: "exact", backbone: "toy-cnn", pretrained: false, threads: 1 };
  const plan = await resolve({ ...request, testDomains: [] });
  let absent = 0;
  for (let stopAfter = 1, done = false; !done; stopAfter++) {
    using run = await RunFolder.own(join(folder, `part-${stopAfter}`));
    let asked = 0;
    ({ done } = await train({ plan, folder: run, shouldStop: () => ++asked >= stopAfter }));
    if (!existsSync(run.file("model.safetensors"))) absent++;
    else {
      using model = await loadModel(run.path);
      expect(model.about.calibration, `stopped at ${stopAfter}`).not.toBeNull();
    }
  }
  expect(absent).toBeGreaterThan(2);
});

test("a folder of classes without domains is trained on, and the report says what is unknown", async () => {
  const data = join(folder, "classes");
  await writePictures(data, { cat: 6, dog: 6 });
  const command = ["train", "--data", data, ...SMALL, "cache=false", "--out", join(folder, "alone"), "--quiet"];
  const text = await nudge(...command);
  expect(text).toContain("Accuracy on new domains: unknown");
  const report = /^report: (.*)$/m.exec(text)![1];
  expect(readFileSync(report, "utf8")).toContain("<b>unknown</b>");
});

test("unsupported options of a probe are refused before anything is written", async () => {
  const refused = async (...more: string[]): Promise<string> => {
    let said = "";
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      said += text;
      return true;
    });
    const to = join(folder, "refused");
    expect(await main(["train", "--probe", "sgd", ...SMALL, "--out", to, ...more])).toBe(2);
    vi.restoreAllMocks();
    expect(existsSync(to)).toBe(false);
    return said;
  };
  const test = ["--data", pictures.root, "--test-domain", "yard"];
  expect(await refused("--data", "shapes", "--test-domain", "filled")).toContain("expected a dataset of picture files");
  const inside = await refused(...test, "--algorithm", "mixstyle");
  expect(inside).toContain("MixStyle needs more than the features of the backbone");
  expect(inside).toContain("any algorithm except MixStyle, ARM, MIRO");
  expect(await refused(...test, "dataAugmentation=true")).toContain("remove dataAugmentation=true");
});

test.skipIf(browser === undefined)(
  "a browser shows the report in light and dark without any request (needs Chromium)",
  async () => {
    const run = "latest";
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser!.newPage({ colorScheme, viewport: { width: 640, height: 800 } }); // 1280 at 200 %
      const seen = watchPage(page);
      await page.goto(pathToFileURL(join(out, run, "report.html")).href);
      expect(await page.title()).toBe("pictures: ERM-NU, probe");
      const wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
      expect(wide).toBeLessThanOrEqual(0);
      const dark = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(dark).toBe(colorScheme === "dark" ? "rgb(20, 24, 29)" : "rgb(255, 255, 255)");
      expect(seen.errors).toEqual([]);
      expect(seen.requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:"))).toEqual([]);
      await page.close();
    }
  },
);
