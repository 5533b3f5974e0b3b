import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import type { DatasetDefinition } from "../data/dataset.js";
import { imageFolder } from "../data/datasets/image-folder.js";
import { datasets } from "../data/datasets/index.js";
import { splitHash } from "../data/split.js";
import type { Request } from "../declared-settings/keys.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { writeWeights } from "../engine/weights.js";
import { SettingsMemo } from "./memo.js";
import { protocolFor } from "./protocols.js";
import { mergePairs, readConfig, readPairs, requestOver } from "./read-request.js";
import { resolve } from "./resolve.js";
import { runName } from "./settings.js";

const shapes = { data: "shapes", testDomains: "filled" };
const settingsOf = async (request: Request) => (await resolve({ ...shapes, ...request })).settings;

test("a run has the reference's defaults for its dataset", async () => {
  const settings = await settingsOf({});
  expect(settings).toMatchObject({
    algorithm: "erm",
    steps: 5001,
    evaluateEvery: 100,
    backbone: "small-cnn",
    fixed: {},
  });
  expect(settings.hparams).toMatchObject({ lr: 1e-3, batchSize: 64, weightDecay: 0, dropout: 0 });
});

test("a draw of hyperparameters is the reference's", async () => {
  const { hparams, regularizers, fixed } = await settingsOf({ algorithm: "ERM-NU", hparamsSeed: 1 });
  expect(hparams.lr).toBe(1.1906162909279594e-4);
  expect(hparams.batchSize).toBe(372);
  expect(regularizers[0].settings.weight).toBe(0.006794480466102864);
  expect(fixed).toEqual({});
});

test("with sharedSearch, a method with a penalty has the same draws as without it, and is another row", async () => {
  const large = { "data.size": 64, hparamsSeed: 2 };
  const plain = await settingsOf({ ...large, sharedSearch: true });
  const penalised = await settingsOf({ ...large, algorithm: "ERM-NU" });
  const shared = await settingsOf({ ...large, algorithm: "ERM-NU", sharedSearch: true });
  expect(penalised.hparams.batchSize).toBeGreaterThanOrEqual(32);
  expect(plain.hparams.batchSize).toBeLessThan(32);
  expect(shared.hparams).toEqual(plain.hparams);
  expect(shared.fixed).toEqual({ "data.size": 64, sharedSearch: true });
  expect(await settingsOf({ ...shared.request })).toEqual(shared);
  // It determines only the draw, which names the run, so a run whose draw is the same has the same name.
  expect((await settingsOf(large)).hash).toBe(plain.hash);
});

test("a method may be named as in papers or by its parts, and is then the same run", async () => {
  const named = await settingsOf({ algorithm: "SWAD-NU" });
  const built = await settingsOf({ algorithm: "erm", regularizers: ["NU"], averaging: "swad" });
  expect(named).toMatchObject({
    algorithm: "erm",
    averaging: [{ id: "swad" }],
    regularizers: [{ id: "nuclear-norm" }],
  });
  expect(built.hash).toBe(named.hash);
  expect(runName(named)).toBe(`${named.hash}-shapes-filled-swad+erm+nuclear-norm-trial0`);
});

test("a value of a plug-in is given by its name, alone or with its owner's", async () => {
  const bare = await settingsOf(readPairs(["algorithm=ERM-NU", "weight=0.03", "warmup=0"]));
  const owned = await settingsOf(readPairs(["algorithm=ERM-NU", "nuclear-norm.weight=0.03", "nuclear-norm.warmup=0"]));
  expect(bare.regularizers[0].settings).toMatchObject({ weight: 0.03, warmup: 0 });
  expect(owned).toEqual(bare);
  expect(bare.fixed).toEqual({ "nuclear-norm.weight": 0.03, "nuclear-norm.warmup": 0 });
});

test("what was set by hand is kept also where it is the default or the run's own draw", async () => {
  const { lr, batchSize } = (await settingsOf({ hparamsSeed: 1 })).hparams;
  const { fixed } = await settingsOf({ hparamsSeed: 1, lr, batchSize, steps: 5001, "data.size": 32, device: "cpu" });
  expect(fixed).toEqual({ steps: 5001, "data.size": 32, lr, batchSize });
});

test("a run that is made again from its settings has what was set by hand the first time, and what is set now", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "settings.json");
  const { fixed, ...rest } = await settingsOf({ algorithm: "Mixup-NU", alpha: 0.4, steps: 7 });
  expect(fixed).toEqual({ steps: 7, "mixup.alpha": 0.4 });
  // The format of earlier versions, which had no `fixed`.
  const { "mixup.alpha": alpha, ...request } = rest.request;
  const before = { ...rest, given: { steps: 7, alpha: 0.4 }, request: { ...request, alpha } };
  for (const written of [{ ...rest, fixed }, before]) {
    writeFileSync(path, JSON.stringify(written));
    const again = await resolve(requestOver(readConfig(path), { weight: "0.01" }));
    expect(again.settings.fixed).toEqual({ ...fixed, "nuclear-norm.weight": 0.01 });
  }
});

test("a value that two plug-ins have must be given with its owner's name", async () => {
  const both = { regularizers: "nuclear-norm,frobenius-norm" };
  await expect(settingsOf({ ...both, weight: 1 })).rejects.toThrow("nuclear-norm.weight or frobenius-norm.weight?");
});

test("the name of a run changes with what changes numbers and with nothing else", async () => {
  const { hash } = await settingsOf({});
  for (const same of [
    { threads: 3 },
    { checkpointEvery: 5 },
    { lr: "0.001" },
    { steps: 5001 },
    { testDomains: ["filled"] },
  ])
    expect((await settingsOf(same)).hash).toBe(hash);
  const others = [
    { seed: 1 },
    { trialSeed: 1 },
    { lr: 2e-3 },
    { steps: 5 },
    { "data.cue": 0.5 },
    { precision: "bf16" },
  ];
  const hashes = await Promise.all(others.map(async (other) => (await settingsOf(other)).hash));
  expect(new Set([hash, ...hashes]).size).toBe(others.length + 1);
});

test("a dataset whose option is empty by default gives the same run again from its settings", async () => {
  const root = mkdtempSync(join(tmpdir(), "nudge-domain-net-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const domain of ["clipart", "infograph", "painting", "quickdraw", "real", "sketch"])
    for (const name of ["a", "b"]) {
      mkdirSync(join(root, "domain_net", domain, name), { recursive: true });
      for (let i = 0; i < 5; i++) writeFileSync(join(root, "domain_net", domain, name, `${i}.jpg`), "");
    }
  const request = { data: "domain-net", root, testDomains: "sketch", pretrained: false };
  const { settings } = await resolve(request);
  expect(settings.datasetOptions).toEqual({ duplicates: "" });
  const { settings: again } = await resolve(JSON.parse(JSON.stringify(settings.request)));
  expect(again).toEqual(settings);
});

test("a file of settings that refers to itself is refused by its name", () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "loop.yaml");
  writeFileSync(path, "algorithm: &a\n  x: *a\n");
  expect(() => readConfig(path)).toThrow(/loop\.yaml: the settings are nested too deeply, or refer to themselves/);
});

test("the settings of a run make the same run again, in a YAML file or as they were written", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-settings-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const first = await settingsOf(
    readPairs(["algorithm=swad-mixup-nu", "alpha=0.4", "swad.tolerance=0.2", "hparamsSeed=2"]),
  );
  writeFileSync(join(folder, "settings.json"), JSON.stringify(first));
  expect((await resolve(readConfig(join(folder, "settings.json")))).settings).toEqual(first);
  const yaml = ["data: shapes", "testDomains: [filled]", "steps: 7", "swad: { tolerance: 0.2 }", "averaging: swad"];
  writeFileSync(join(folder, "run.yaml"), yaml.join("\n"));
  const request = { ...readConfig(join(folder, "run.yaml")), ...readPairs(["steps=9"]) };
  const { settings } = await resolve(request);
  expect(settings).toMatchObject({ steps: 9, averaging: [{ id: "swad", settings: { tolerance: 0.2 } }] });
});

test.each([
  [{ algorithm: "emr" }, 'unknown algorithm "emr": did you mean "erm"?'],
  [{ testDomains: "fild" }, 'unknown domain "fild": did you mean "filled"?'],
  [{ testDomains: "" }, "no test domain: choose one of filled, outlined, textured, inverted"],
  [{ testDomains: "filled,outlined,textured,inverted" }, "no domain of dataset shapes is left for training"],
  [{ learningRate: 1 }, 'unknown setting "learningRate": here it is lr'],
  [{ epochs: 3 }, 'unknown setting "epochs": here it is steps, the number of updates'],
  [
    { resnet_dropout: 1 },
    'unknown setting "resnet_dropout": this is the name in the reference code; here it is dropout',
  ],
  [{ algorithm: "IRM", irm_lambda: 1 }, "here it is penaltyWeight"],
  [{ algorithm: "ERM-NU", theta: 1 }, "here it is nuclear-norm.weight"],
  [{ evaluateEvry: 1 }, 'did you mean "evaluateEvery"?'],
  [{ lr: "fast" }, 'lr: expected a number from 0, got "fast"'],
  [{ lr: -1 }, "lr: expected a number from 0, got -1"],
  [
    { headFirst: "exakt" },
    'headFirst: expected exact, false, or a number of updates (at least 1); got "exakt". Did you mean "exact"?',
  ],
  [{ headFirst: "0" }, 'headFirst: expected an integer of at least 1, got "0"'],
  [{ testDomains: "0" }, 'Domain 0 in DomainBed\'s numbering is "filled", the first of 4: use its name'],
  [{ testDomains: "3" }, 'Domain 3 in DomainBed\'s numbering is "inverted"'],
  [{ testDomains: "4" }, 'unknown domain "4"'],
  [{ algorithm: "ERM-NUU" }, 'unknown penalty "NUU" in "ERM-NUU": did you mean "NU"?'],
  [{ algorithm: "SWAD-XX" }, /^unknown algorithm "XX" \(algorithms: .*ERM.*; penalties: NU, .*; averages: SWAD, /],
  [{ algorithm: "SWDA-CORAL-NU" }, 'unknown average "SWDA" in "SWDA-CORAL-NU": did you mean "SWAD"?'],
  [{ algorithm: "SWDA" }, 'unknown algorithm "SWDA": did you mean "SWAD"?'],
  [{ steps: 0 }, "steps: expected an integer of at least 1, got 0"],
  [{ seed: "1.5" }, 'seed: expected an integer of at least 0, got "1.5"'],
  [{ batchSize: 0 }, "batchSize: expected an integer of at least 1, got 0"],
  [{ precision: "fp8" }, 'unknown precision "fp8"'],
  [{ pretrained: "yes" }, 'pretrained: expected true or false, got "yes"'],
  [{ backbone: "resnet5" }, 'did you mean "resnet50"?'],
  [{ regularizers: "nuclear" }, 'unknown regularizer "nuclear"'],
  [{ algorithm: "ERM-NU", scaling: "some" }, "scaling"],
  [{ "data.sise": 3 }, 'unknown option of dataset shapes "sise": did you mean "size"?'],
  [{ averaging: "swda" }, 'unknown averaging "swda": did you mean "swad"?'],
  [{ data: "shpes" }, 'did you mean "shapes"?'],
])("%j is refused with a clear error", async (request, words) => {
  await expect(settingsOf(request)).rejects.toThrow(words);
});

test("a word that is not a setting is refused", () => {
  expect(() => readPairs(["steps"])).toThrow('"steps": expected a setting as key=value');
});

test("a setting that is given twice with different values is refused, and both are named", () => {
  expect(() => readPairs(["lr=1e-4", "steps=2", "lr=1e-3"])).toThrow("lr is given twice: lr=1e-4 and lr=1e-3");
  expect(readPairs(["lr=1e-3", "lr=0.001"])).toEqual({ lr: "0.001" });
  const flagOf = (name: string): string => `--${name}`;
  expect(() => mergePairs({ steps: "20" }, { steps: "30" }, flagOf)).toThrow(
    "steps is given twice: --steps 20 and steps=30; remove one of them",
  );
  expect(mergePairs({ steps: "20" }, { steps: "20", lr: "1" }, flagOf)).toEqual({ steps: "20", lr: "1" });
});

test("the hash of the split in the settings is that of the split", async () => {
  const memo = new SettingsMemo();
  for (const testDomains of [["filled"], ["inverted"], ["filled", "inverted"]]) {
    const { settings, split } = await resolve({ data: "shapes", testDomains, trialSeed: 1, holdout: 0.3 }, memo);
    expect(settings.splitHash).toBe(splitHash(split));
  }
});

test("SWAD's protocol settles what is not given, and a run says that it is in it", async () => {
  const swad = await settingsOf({ protocol: "swad" });
  expect(swad).toMatchObject({ steps: 5001, evaluateEvery: 200, augmentValidation: false, evaluateTraining: false });
  expect(swad.fixed).toEqual({ protocol: "swad" });
  const given = { evaluateEvery: 200, augmentValidation: false, evaluateTraining: false };
  expect((await settingsOf(given)).hash).toBe(swad.hash);
  expect((await settingsOf({ protocol: "swad", steps: 7 })).fixed).toEqual({ protocol: "swad", steps: 7 });
  expect(protocolFor({ id: "domain-net" }, "swad")).toMatchObject({ steps: 15001, evaluateEvery: 500 });
  expect(protocolFor({ id: "vlcs" }, "swad")).toMatchObject({ steps: 5001, evaluateEvery: 50 });
  expect(protocolFor({ id: "domain-net" }, "domainbed")).toMatchObject({ steps: 5001, evaluateEvery: 1000 });
});

test("a plug-in's pictures are pinned down as a folder's are, since nobody has published how many there are", async () => {
  const root = temporaryFolder();
  const { domains } = await makePictureFolder(root, { perCell: 5, domains: ["a", "b"] });
  const registry = datasets as Record<string, DatasetDefinition>;
  const open = async (given: Parameters<DatasetDefinition["open"]>[0]) => {
    const opened = await imageFolder.open(given);
    return { ...opened, id: "crates" };
  };
  registry.crates = { ...imageFolder, id: "crates", open };
  onTestFinished(() => void delete registry.crates);
  const settled = async () =>
    (await resolve({ data: "crates", root, testDomains: "b", backbone: "small-cnn", pretrained: false })).settings;
  const before = await settled();
  expect(before.pictures).toMatch(/^[0-9a-f]{16}$/);
  appendFileSync(join(root, domains[0].files[0]), "x");
  const after = await settled();
  expect(after.splitHash).toBe(before.splitHash);
  expect(after.hash).not.toBe(before.hash);
});

test("pictures are normalized as the weights were trained, or as it is asked; ImageNet's leaves no trace in the settings", async () => {
  const plain = await settingsOf({ normalization: "imagenet" });
  expect(Object.keys(plain)).not.toContain("normalization");
  expect(plain.hash).toBe((await settingsOf({})).hash);
  const half = await settingsOf({ normalization: "half" });
  expect(half).toMatchObject({ normalization: "half", fixed: { normalization: "half" } });
  expect(half.hash).not.toBe(plain.hash);
  expect((await resolve(half.request)).settings.hash).toBe(half.hash);
  await expect(settingsOf({ normalization: "imagnet" })).rejects.toThrow("normalization");
});

test("weights of another network, or that leave something open, are refused before anything is trained", async () => {
  const file = (name: string) => fileURLToPath(new URL(`../../tests/vectors/transformers/${name}`, import.meta.url));
  const started = (backbone: string, name: string, more: Request = {}) =>
    settingsOf({ backbone, weights: file(name), ...more });
  await expect(started("vit_b_16", "vit-torchvision.pth")).rejects.toThrow(
    /belong to a ViT of width 8, 4 blocks, patches of 4 pixels, under torchvision's ViT names, but the backbone is vit_b_16; choose weights of vit_b_16/,
  );
  await expect(started("dinov2_vits14", "clip-openai.pt")).rejects.toThrow("belong to a CLIP image tower");
});

test("a file for one of the two ResNet-50s is refused by the other, and brings its normalization", async () => {
  const file = (name: string, metadata: Record<string, string>): string => {
    const path = join(temporaryFolder(), name);
    const signs = ["layer1.0.conv3.weight", "layer3.5.conv3.weight"];
    scope(() => writeWeights(path, new Map(signs.map((sign) => [sign, zeros([1])])), metadata));
    return path;
  };
  const [usual, original] = [file("usual", {}), file("original", { backbone: "resnet50_v1" })];
  const started = (backbone: string, weights: string) => settingsOf({ backbone, weights });
  expect(await started("resnet50_v1", original)).toMatchObject({ backbone: "resnet50_v1", normalization: "caffe" });
  await expect(started("resnet50", original)).rejects.toThrow(
    /belong to resnet50_v1, but the backbone is resnet50; use --backbone resnet50_v1/,
  );
  await expect(started("resnet50_v1", usual)).rejects.toThrow(/belong to resnet50, but the backbone is resnet50_v1/);
});

test("swad.afterValley is also read by its former name, and the name of the run is the same as before", async () => {
  const settings = await settingsOf({ averaging: "swad", "swad.afterValley": "continue" });
  expect(settings.averaging[0].settings).toMatchObject({ afterValley: "continue" });
  for (const former of ["swad.whenLeft", "whenLeft"])
    expect(await settingsOf({ averaging: "swad", [former]: "continue" })).toMatchObject({
      hash: settings.hash,
      averaging: settings.averaging,
    });
  expect(settings.hash).toBe("4d19d4781c4b3022");
  expect((await settingsOf({ averaging: "swad" })).hash).toBe("83eb397fa676ddbc");
});

test("weights that are no file, such as a device without an end, are refused", async () => {
  for (const weights of ["/dev/zero", "/dev", "/nowhere.pth"])
    await expect(settingsOf({ backbone: "mobilenet_v2", weights })).rejects.toThrow(weights);
});

test("LoRA is for vision transformers with trained weights, and its parts are checked", async () => {
  await expect(settingsOf({ loraAlpha: 4 })).rejects.toThrow("loraAlpha: set the rank of LoRA too, for example lora=8");
  await expect(settingsOf({ lora: 4 })).rejects.toThrow(
    "LoRA is for vision transformers, and the backbone is small-cnn",
  );
  const vit = { backbone: "vit_s_16", pretrained: false, lora: 4 };
  await expect(settingsOf(vit)).rejects.toThrow("LoRA adapts trained weights");
  await expect(settingsOf({ ...vit, freeze: "all" })).rejects.toThrow("leave out freeze=all");
});
