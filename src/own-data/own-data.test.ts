import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder, writePictures } from "../../tests/support/picture-folder.js";
import { backbones } from "../backbones/index.js";
import type { Dataset } from "../data/dataset.js";
import type { Request } from "../declared-settings/keys.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { writeWeights } from "../engine/weights.js";
import { resolve } from "../settings/resolve.js";
import { ownDefaults } from "./defaults.js";
import { estimateRun, roughly } from "./estimate.js";
import { findTrained } from "./find-trained.js";
import { plansFor } from "./plans.js";
import { recipeRequests } from "./recipe-plan.js";

beforeEach(() => {
  vi.stubEnv("NUDGE_WEIGHTS", "");
  vi.stubEnv("XDG_CACHE_HOME", temporaryFolder());
});
afterEach(() => void vi.unstubAllEnvs());

/** A file with the names of a backbone's tensors and almost no data. */
function weightsOf(id: "mobilenet_v2" | "resnet18" | "resnet34", folder: string, name = `${id}.safetensors`): string {
  const path = join(folder, name);
  using backbone = backbones[id].build({});
  const names = [...backbone.stateDict().keys()];
  scope(() => writeWeights(path, new Map(names.map((each) => [each, zeros([1])]))));
  return path;
}

/** Random weights, so that the tests do not depend on the weights on this machine. */
const untrained = { pretrained: false };

const folderOf = (counts: readonly number[]): Dataset =>
  ({ id: "image-folder", domains: counts.map((count, i) => ({ name: `d${i}`, count })) }) as unknown as Dataset;

test("the length of training fits the folder and the device", () => {
  const settings = (counts: number[], device: string) => ownDefaults(folderOf(counts), untrained, device).request;
  expect(settings([100, 100, 100], "cpu")).toMatchObject({ steps: 201, batchSize: 10, evaluateEvery: 40 });
  expect(settings([3000, 3000, 3000], "cpu")).toMatchObject({ steps: 301, batchSize: 10, evaluateEvery: 60 });
  expect(settings([3000, 3000, 3000], "cuda")).toMatchObject({ steps: 1501, batchSize: 32, evaluateEvery: 150 });
  expect(settings([10], "cpu")).toMatchObject({ steps: 201, batchSize: 32 });
  expect(settings([40_000, 40_000], "cpu")).toMatchObject({ steps: 301, evaluateEvery: 300 }); // once, at the end
});

test("a GPU with bfloat16 trains in it by default, except for a probe, and reports it", () => {
  const folder = folderOf([100, 100]);
  const { request, words } = ownDefaults(folder, untrained, "cuda:0", true);
  expect(request.precision).toBe("bf16");
  expect(words.join("\n")).toContain("precision: bfloat16, which is several times as fast on cuda:0");
  for (const [asked, has] of [[{}, false], [{ precision: "float32" }, true], [{ probe: true }, true]] as const) // biome-ignore format: short
    expect(ownDefaults(folder, { ...untrained, ...asked }, "cuda:0", has).request).not.toHaveProperty("precision");
  expect(ownDefaults(folder, untrained, "cpu").request).not.toHaveProperty("precision");
});

test("the method is ERM-NU from the first step, and what is given is left alone", () => {
  const folder = folderOf([100, 100]);
  expect(ownDefaults(folder, untrained, "cpu").request).toMatchObject({
    algorithm: "ERM-NU",
    "nuclear-norm.warmup": 0,
  });
  const asked = { algorithm: "erm", steps: "51", batchSize: "3", backbone: "resnet18" };
  const { request } = ownDefaults(folder, asked, "cpu");
  for (const name of ["algorithm", "steps", "batchSize", "backbone", "nuclear-norm.warmup"])
    expect(request).not.toHaveProperty(name);
  expect(request).toMatchObject({ evaluateEvery: 10 });
});

test("trained weights are found and known by their tensors; a folder has the preferred one", () => {
  expect(findTrained()).toBeUndefined();
  const folder = temporaryFolder();
  const small = weightsOf("resnet18", folder);
  expect(findTrained(small)).toEqual({ backbone: "resnet18", file: small });
  expect(findTrained(weightsOf("resnet34", folder, "x.safetensors"))?.backbone).toBe("resnet34");
  vi.stubEnv("NUDGE_WEIGHTS", folder);
  expect(findTrained()?.backbone).toBe("resnet18");
  const mobile = weightsOf("mobilenet_v2", folder);
  expect(findTrained()).toEqual({ backbone: "mobilenet_v2", file: mobile });
  vi.stubEnv("NUDGE_WEIGHTS", small);
  expect(findTrained()).toEqual({ backbone: "resnet18", file: small });
  expect(() => findTrained(join(folder, "none"))).toThrow("no such file");
  vi.stubEnv("NUDGE_WEIGHTS", join(folder, "none"));
  expect(() => findTrained()).toThrow(`$NUDGE_WEIGHTS is ${join(folder, "none")}: no such file or folder`);
  scope(() => writeWeights(join(folder, "odd.safetensors"), new Map()));
  expect(() => findTrained(join(folder, "odd.safetensors"))).toThrow("name the backbone with --backbone");
});

test("weights of another backbone than the requested one are refused before anything starts", async () => {
  const data = join(temporaryFolder(), "pictures");
  await makePictureFolder(data, { perCell: 5 });
  const weights = weightsOf("resnet18", temporaryFolder());
  await expect(plansFor({ data, weights, backbone: "mobilenet_v2" }, { device: "cpu" })).rejects.toThrow(
    /resnet18\.safetensors belong to resnet18, but the backbone is mobilenet_v2; use --backbone resnet18, or choose weights of mobilenet_v2/,
  );
  vi.stubEnv("NUDGE_WEIGHTS", weights); // the message names the variable if the file comes from it
  await expect(plansFor({ data, backbone: "mobilenet_v2" }, { device: "cpu" })).rejects.toThrow(
    `the weights in ${weights} ($NUDGE_WEIGHTS) belong to resnet18`,
  );
});

test("without trained weights the right ones are named, and a small network has to be asked for", async () => {
  const data = join(temporaryFolder(), "pictures");
  await makePictureFolder(data, { perCell: 5 });
  await expect(plansFor({ data }, { device: "cpu" })).rejects.toThrow(
    /^no trained weights for mobilenet_v2 .* nudge weights get mobilenet_v2\n.* --no-pretrained trains a small network .*$/s,
  );
  await expect(plansFor({ data }, { device: "cuda" })).rejects.toThrow("nudge weights get resnet50\n");
  await expect(plansFor({ data, probe: true }, { device: "cpu" })).rejects.toThrow("nudge weights get mobilenet_v2\n");
  const { main, words } = await plansFor({ data, pretrained: false }, { device: "cpu" });
  expect(main.settings).toMatchObject({ backbone: "small-cnn", pretrained: false });
  expect(words[0]).toContain("small-cnn from random weights, as requested");
});

test("a folder of domains is trained on whole, and with each held out; a test domain or a no leaves that away", async () => {
  const data = join(temporaryFolder(), "pictures");
  await makePictureFolder(data, { perCell: 5, domains: ["a", "b", "c"] });
  const held = async (asked: object, leaveOneOut?: boolean) => {
    const { main, heldOut } = await plansFor({ data, ...untrained, ...asked }, { device: "cpu", leaveOneOut });
    return [main, ...heldOut].map(({ settings }) => settings.testDomains.join("+"));
  };
  expect(await held({})).toEqual(["", "a", "b", "c"]);
  expect(await held({}, false)).toEqual([""]);
  expect(await held({ testDomains: "b" })).toEqual(["b"]);
  await expect(held({ testDomains: "b" }, true)).rejects.toThrow("turn and cannot be combined with --test-domain");
  await expect(held({ testDomains: "b" }, false)).rejects.toThrow(
    "--no-leave-one-out trains on all domains and cannot",
  );
  await expect(held({ testDomains: "" })).rejects.toThrow("no test domain: choose one of a, b, c");
});

test("a folder of classes alone is one run, which says what it cannot know", async () => {
  const data = join(temporaryFolder(), "pictures");
  mkdirSync(data);
  await writePictures(data, { cat: 5, dog: 5 });
  const { main, heldOut, words } = await plansFor({ data, ...untrained }, { device: "cpu" });
  expect({ domains: main.settings.domains, held: heldOut.length }).toEqual({ domains: ["all"], held: 0 });
  expect(words.at(-1)).toContain("contain classes but no domains");
});

test("a benchmark by name keeps its protocol, and requires a test domain or leave-one-out", async () => {
  const plans = await plansFor({ data: "shapes", testDomains: "filled" }, { device: "cpu" });
  expect(plans).toMatchObject({ words: [], own: false, heldOut: [] });
  expect(plans.main.settings).toMatchObject({ algorithm: "erm", regularizers: [], steps: 5001, fixed: {} });
  await expect(plansFor({ data: "shapes" }, { device: "cpu" })).rejects.toThrow(
    "hold out each in turn with --leave-one-out",
  );
  const all = await plansFor({ data: "shapes" }, { device: "cpu", leaveOneOut: true });
  expect(all.heldOut).toHaveLength(4);
});

test("the time of a run is measured, and grows with its length", async () => {
  const tiny = { data: "shapes", "data.size": 16, "data.perCell": 2, testDomains: "filled", batchSize: 4 };
  const [short, long] = await Promise.all([10, 100_000].map((steps) => resolve({ ...tiny, steps, evaluateEvery: 10 })));
  const [few, many] = [short, long].map((plan) => estimateRun(plan)!);
  expect(few.training).toBeGreaterThan(0);
  expect(many.training).toBeGreaterThan(100 * few.training); // the true factor is 10,000, but the machine may be busy
  expect(many.evaluation).toBeGreaterThan(100 * few.evaluation);
});

test("times are as exact as they are", () => {
  expect([0.2, 45, 100, 5000, 9000].map(roughly)).toEqual(["1 s", "45 s", "2 min", "83 min", "2.5 h"]);
});

test("a manifest's own split is trained by as it is", async () => {
  const root = temporaryFolder();
  await writePictures(root, ["a.png", "b.png", "c.png", "d.png"]);
  const lines = ["path,label,split", "a.png,x,in", "b.png,y,in", "c.png,x,out", "d.png,y,out"];
  writeFileSync(join(root, "list.csv"), `${lines.join("\n")}\n`);
  const { main } = await plansFor({ data: join(root, "list.csv"), ...untrained }, { device: "cpu" });
  expect(main.split.get("all")).toMatchObject({ in: [0, 2], out: [1, 3] });
});

test("a label that was put right makes another run, and a folder that was moved does not", async () => {
  const [root, moved] = [temporaryFolder(), join(temporaryFolder(), "moved")];
  const data = join(root, "pictures");
  await makePictureFolder(data, { perCell: 5, size: (n) => [20 + n, 16] });
  const hash = async (at: string): Promise<string> =>
    (await plansFor({ data: at, ...untrained }, { device: "cpu" })).main.settings.hash;
  const before = await hash(data);
  renameSync(data, moved);
  expect(await hash(moved)).toBe(before);
  renameSync(join(moved, "a/x/004.png"), join(moved, "a/y/004b.png")); // the number of pictures of each domain does not change
  expect(await hash(moved)).not.toBe(before);
});

test("a recipe fine-tunes MobileNetV2 at twice the usual learning rate, and a given one is used", () => {
  const folder = folderOf([100, 100]);
  const rateOf = (asked: Request): unknown => recipeRequests(folder, { ...asked, weights: "w" }, "cpu").finetune.lr;
  expect(rateOf({ backbone: "mobilenet_v2" })).toBe(1e-4);
  expect(rateOf({ backbone: "mobilenet_v2", lr: 3e-5 })).toBe(3e-5);
  expect(rateOf({ backbone: "resnet50" })).toBeUndefined();
});
