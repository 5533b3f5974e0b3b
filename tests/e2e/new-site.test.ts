/** A model on a new site: estimate without labels, pictures to label, the page, and the adapted model. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { backbones } from "../../src/backbones/index.js";
import { measuredText } from "../../src/cli/data-pick.js";
import { main } from "../../src/cli/main.js";
import { Random } from "../../src/engine/random.js";
import { scope } from "../../src/engine/scope.js";
import { writeWeights } from "../../src/engine/weights.js";
import { readModelAbout } from "../../src/model/index.js";
import { LabelList } from "../../src/review/label-list.js";
import { scene } from "../support/scenes.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-site-"));
const root = join(folder, "pictures");
const fresh = join(folder, "new");
const run = join(folder, "runs/latest");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.restoreAllMocks());

/** Runs a command and returns its exit code and what it prints. */
async function nudge(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
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

beforeAll(async () => {
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "mobilenet_v2.safetensors"));
  const write = async (place: string, n: number, factor: number, offset: number): Promise<void> => {
    mkdirSync(place, { recursive: true });
    await scene(n)
      .linear(factor, offset)
      .png()
      .toFile(join(place, `${n}.png`));
  };
  // The classes differ in brightness, and the sources in contrast.
  for (const [s, source] of ["shop", "street", "yard"].entries())
    for (const [c, name] of ["mug", "pen"].entries())
      for (let i = 0; i < 8; i++)
        await write(join(root, source, name), 100 * s + 20 * c + i, 0.2 + 0.1 * s, 10 + 90 * c);
  for (const [c, name] of ["mug", "pen"].entries())
    for (let i = 0; i < 10; i++) await write(join(fresh, name), 500 + 20 * c + i, 0.35, 60 + 90 * c);
  using network = backbones.mobilenet_v2.build({}).initialize(new Random(1));
  scope(() => writeWeights(join(folder, "mobilenet_v2.safetensors"), network.stateDict()));
  const settings = ["--device", "cpu", "--threads", "1", "size=64", "evaluationSize=64", "--recipe", "probe"];
  expect((await nudge("train", "--data", root, ...settings, "--out", join(folder, "runs"))).code).toBe(0);
}, 120_000);

test("the accuracy on new pictures is estimated without labels, and a copy of the model fits the estimate", async () => {
  const about = readModelAbout(run);
  expect(about.calibration!.heldOut).toMatchObject({ domains: ["shop", "street", "yard"] });
  const saved = join(folder, "site.safetensors");
  const { code, stdout, stderr } = await nudge("estimate", run, fresh, "--device", "cpu", "--save", saved);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^Estimated accuracy on these 20 pictures: \d+\.\d % \(90 % interval /m);
  expect(stdout).toMatch(/Kolmogorov-Smirnov test of the distance from training against \d+ validation pictures/);
  const json = JSON.parse((await nudge("estimate", run, fresh, "--device", "cpu", "--json")).stdout);
  expect(json.pictures).toBe(20);
  expect(readModelAbout(saved).calibration!.temperature).toBeCloseTo(json.temperature.matched, 5);
  expect(readModelAbout(saved).calibration!.heldOut).toEqual(about.calibration!.heldOut);
});

test("picked pictures are copied, listed and labelled, and their labels adapt the model", async () => {
  const out = join(folder, "picked");
  const { code, stdout, stderr } = await nudge(
    "data",
    "pick",
    run,
    fresh,
    "--n",
    "16",
    "--out",
    out,
    "--device",
    "cpu",
    "--json",
  );
  expect(code, stderr).toBe(0);
  const picked = JSON.parse(stdout);
  expect(picked).toHaveLength(16);
  expect(readdirSync(out)).toHaveLength(17);
  const labels = new LabelList(join(out, "labels.csv"), "new");
  for (const { file, from } of picked) labels.mark(file, "", from.includes("/mug/") ? "mug" : "pen");
  expect(new LabelList(join(out, "labels.csv"), "new").marks.size).toBe(16);
  expect(measuredText(picked, labels.marks)).toMatch(
    /16 pictures of 16 labelled\nmeasured accuracy .* from the 8 pictures drawn at random/,
  );
  const adapted = await nudge("adapt", run, "--data", join(out, "labels.csv"), "--device", "cpu");
  expect(adapted.code, adapted.stderr).toBe(0);
  expect(adapted.stdout).toMatch(/^on 16 new pictures: the old classifier is correct for /m);
  const file = join(run, "adapted.safetensors");
  if (existsSync(file)) {
    const { prediction } = readModelAbout(file);
    expect(prediction).toMatchObject({ stored: 48 + 16 });
    expect((await nudge("predict", file, fresh, "--device", "cpu")).code).toBe(0);
  } else expect(adapted.stdout).toContain("nothing was written");
}, 60_000);

test("too few labels, and pictures that are gone, are reported with what to do", async () => {
  const few = join(folder, "few.csv");
  writeFileSync(few, "path,label\nnew/mug/500.png,mug\nnew/pen/520.png,pen\n");
  const { code, stderr } = await nudge("adapt", run, "--data", few, "--device", "cpu");
  expect(code).toBe(2);
  expect(stderr).toContain("expected at least 10 labelled pictures, got 2; nudge data pick chooses which to label");
  const elsewhere = join(folder, "model-only");
  mkdirSync(elsewhere);
  cpSync(join(run, "model.safetensors"), join(elsewhere, "model.safetensors"));
  const alone = await nudge("adapt", elsewhere, "--data", fresh, "layout=class", "--device", "cpu");
  expect(alone.code).not.toBe(0);
  expect(alone.stderr).toContain("settings.json");
});
