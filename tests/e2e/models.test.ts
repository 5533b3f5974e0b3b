/**
 * A model from training to use, on small pictures in folders: predict, eval, embed and export give what the run recorded, and
 * what each says of broken pictures, strange classes and wrong calls.
 */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { describe as describePictures } from "../../examples/use-a-model/predict.mjs";
import { serve } from "../../examples/use-a-model/server.mjs";
import { main } from "../../src/cli/main.js";
import { Loader } from "../../src/data/loader.js";
import { openPictures } from "../../src/data/picture-store.js";
import { liveTensors } from "../../src/engine/device.js";
import { zeros } from "../../src/engine/ops.generated.js";
import { openSafetensors } from "../../src/engine/safetensors.js";
import { scope } from "../../src/engine/scope.js";
import { readWeights, writeWeights } from "../../src/engine/weights.js";
import { MODEL_FORMAT } from "../../src/model/about.js";
import { loadModel, type Model, readModelAbout } from "../../src/model/index.js";
import { readRun } from "../../src/records/run.js";
import { resolve } from "../../src/settings/resolve.js";
import { RunFolder } from "../../src/training/run-folder.js";
import { train } from "../../src/training/train.js";
import { fencedBlocks } from "../support/fenced-blocks.js";
import { writeMadeModel } from "../support/made-model.js";
import { makePictureFolder } from "../support/made-pictures.js";
import { catchPrinted } from "../support/printed.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-use-"));
const data = join(folder, "pictures");
const run = join(folder, "run");
const file = join(run, "model.safetensors");
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const printed = catchPrinted();

const request = { data, testDomains: "sketch", backbone: "toy-cnn", cache: "false", steps: 6, evaluateEvery: 5 };

beforeAll(async () => {
  // Another size for each, so that scaling down (short side above 256) and resizing both have something to do.
  const sizes = [[40, 32], [300, 280], [64, 270]] as const; // biome-ignore format: short
  await makePictureFolder(data, { perCell: 8, domains: ["paint", "photo", "sketch"], size: (n) => sizes[n % 3] });
  await trainOne(run, 1e-4);
}, 60_000);

async function trainOne(path: string, lr: number): Promise<void> {
  const plan = await resolve({ ...request, batchSize: 4, lr, threads: 1, keepCheckpoint: true });
  using owned = await RunFolder.own(path);
  owned.writeJson("settings.json", plan.settings);
  await train({ plan, folder: owned });
}

const used = (...args: string[]): Promise<number> => main([args[0], file, ...args.slice(1), "--threads", "1"]);
const jsonPrinted = () => JSON.parse(printed.stdout);

test("the model file describes the model", () => {
  const about = readModelAbout(run);
  expect(about).toMatchObject({
    format: 2,
    backbone: "toy-cnn",
    classes: ["x", "y"],
    domains: ["paint", "photo"],
    testDomains: ["sketch"],
    preprocessing: { kind: "pictures", inputShape: [3, 224, 224], shortSide: 256 },
    prediction: { kind: "plain", classifier: "linear" },
  });
  expect(about.distance?.fitted).toBeGreaterThan(10);
  expect(JSON.stringify(about)).not.toContain(folder); // where it was trained is nobody's business
});

test("predictions have the same logits as the evaluation, bit for bit, for files and for bytes", async () => {
  const plan = await resolve(request);
  if (plan.dataset.kind !== "pictures") throw new Error("expected pictures");
  using pictures = await openPictures(plan.dataset, { cache: false });
  const { dataset, split } = plan;
  const loader = new Loader({ dataset, pictures, split, seed: 0, trainDomains: ["paint"], batchSize: 2 });
  using model = await loadModel(file);
  for await (const batch of loader.evaluate("sketch", "in")) {
    using made = batch;
    const paths = made.names().map((name) => join(data, name));
    const expected = scope(() => model.forward(made.x).logits.toArray());
    expect(await model.logits(paths)).toEqual(expected);
    expect(await model.logits(paths.map((path) => readFileSync(path)))).toEqual(expected);
  }
});

test("files that are not pictures are refused, and so is a disposed model", async () => {
  const model = await loadModel(file);
  const bytes = readFileSync(join(data, "photo", "x", "000.png"));
  const given = (value: unknown) => model.predict(value as string);
  await expect(given(new Uint8Array(bytes).buffer)).rejects.toThrow(
    "got ArrayBuffer; convert it with new Uint8Array(buffer)",
  );
  await expect(given(undefined)).rejects.toThrow("expected a path or a file's bytes (Uint8Array), got undefined");
  await expect(given(["a.png", new URL("file:///a.png")])).rejects.toThrow("picture 2: expected a path");
  await expect(model.predictEach("a.png" as never).next()).rejects.toThrow("expected an array of pictures");
  expect(await model.predict([])).toEqual([]);
  model.dispose();
  await expect(model.predict(bytes)).rejects.toThrow("it has been disposed of; load it again");
});

test("eval reproduces the accuracy that the run recorded for the held-out domain", async () => {
  expect(await used("eval", "--data", data, "--domain", "sketch", "--json")).toBe(0);
  const { overall, domains, confusion, byClass, calibration } = jsonPrinted();
  const { step } = readModelAbout(run);
  const rows = readRun(run).records.filter(
    (row) => row.step === step && row.domain === "sketch" && row.metric === "accuracy",
  );
  const { split } = await resolve(request);
  const counts = { in: split.get("sketch")!.in.length, out: split.get("sketch")!.out.length, uda: 0 };
  const right = rows.reduce((sum, { split: part, value }) => sum + value * counts[part as "in"], 0);
  expect(overall).toMatchObject({ count: 16, right: Math.round(right) });
  expect(domains).toMatchObject([{ domain: "sketch", count: 16 }]);
  expect(confusion.flat().reduce((sum: number, count: number) => sum + count, 0)).toBe(16);
  expect(byClass).toHaveLength(2);
  expect(calibration.bins).toHaveLength(15);
});

test("eval of the training folder reports the training pictures, and evaluates the others separately", async () => {
  const html = join(folder, "learnt.html");
  expect(await used("eval", "--data", data, "--json", "--html", html)).toBe(0);
  const { trainedOn, overall, notes } = jsonPrinted();
  expect({ ...trainedOn, others: trainedOn.others.count }).toEqual({ count: 26, nearDuplicates: 0, others: 22 }); // 2 × 3 held back, 16 held out
  expect(overall.count).toBe(48);
  expect(notes[0]).toMatch(/^the model was trained on 26 of these 48 pictures, .* accuracy on the other 22: [\d.]+ %/);
  expect(readFileSync(html, "utf8")).toMatch(/<p class="bad">The model was trained on 26 of these 48 pictures/);
  printed.stdout = "";
  expect(await used("eval", "--data", data, "--domain", "sketch", "--json")).toBe(0);
  expect(jsonPrinted().trainedOn).toBeNull();
});

test("eval compares a model with another on the same pictures", async () => {
  expect(await used("eval", "--data", data, "--domain", "sketch", "--against", run)).toBe(0); // itself
  expect(printed.stdout).toMatch(
    /\nCompared with \S+ on the same pictures:\ndomain .*\nsketch +16 +([\d.]+) +\1 +0 +0 +0\.0 +-[\d.]+ to \+[\d.]+\n16 pictures are not enough to show which model is better\n$/,
  );
  const other = join(folder, "another.safetensors");
  writeMadeModel(other, { inputShape: [3, 224, 224], classes: ["y", "other"] }); // it knows one of the classes
  printed.stdout = "";
  const html = join(folder, "against.html");
  expect(await used("eval", "--data", data, "--against", other, "--json", "--html", html)).toBe(0);
  expect(readFileSync(html, "utf8")).toMatch(
    /<li>Compared with \S+ on the same 24 pictures: [+-][\d.]+ points \(95 % interval/,
  );
  const { against, byClass, notes } = jsonPrinted();
  expect(against).toMatchObject({ model: other, overall: { count: 24 } });
  expect(against.classes).toEqual({ onlyThis: ["x"], onlyOther: ["other"], excluded: 24 });
  expect(against.domains.map(({ domain, count }: { domain: string; count: number }) => [domain, count])).toEqual([
    ["paint", 8],
    ["photo", 8],
    ["sketch", 8],
  ]);
  expect(against.overall.second.right).toBe(byClass[1].right);
  expect(notes).toContain(
    'the other model: the model was trained on domains with the same name ("photo", "paint"); if these are the same pictures, the results are too optimistic',
  );
  printed.stdout = "";
  expect(await used("eval", "--data", data, "--against", other, "--limit", "4")).toBe(0);
  expect(printed.stdout).toMatch(
    /\nwarning: the models have different classes \(only this model has "x", only the other has "other"\), so their tasks are not equally difficult; 6 pictures of classes that the other does not know are excluded from the comparison\n$/,
  );
  expect(printed.stdout).toMatch(/^all +6 /m); // the same six pictures, although each model alone would choose others
  expect(await used("eval", "--data", data, "--against", join(folder, "nowhere"))).toBe(2);
});

test("eval prints tables, and writes a page and figures", async () => {
  const [html, figures] = [join(folder, "eval.html"), join(folder, "figures")];
  expect(await used("eval", "--data", data, "--limit", "4", "--html", html, "--figures", figures)).toBe(0);
  expect(printed.stdout).toMatch(/^accuracy [\d.]+ % \(95 % interval .* on 12 pictures/);
  expect(printed.stdout).toMatch(/sketch\s+4/);
  expect(printed.stdout).toContain("if it answers only for the pictures with the highest confidence");
  const page = readFileSync(html, "utf8");
  expect(page).toContain("<!doctype html>");
  expect(page).not.toMatch(/src="(?!data:)|href="(?!data:)/);
  const names = ["abstention", "calibration", "confusion"].flatMap((name) => [`${name}.png`, `${name}.svg`]);
  expect(readdirSync(figures)).toEqual(names);
});

test("classes are matched by name, and classes without a match are reported", async () => {
  const other = join(folder, "other");
  await makePictureFolder(other, { perCell: 2, domains: ["a"], classes: ["Y", "z"] });
  expect(await used("eval", "--data", other)).toBe(0);
  expect(printed.stderr).toContain('skipped 2 pictures of classes that the model does not know ("z")');
  expect(printed.stderr).toContain('classes of the model without pictures: "x"');
  const strange = join(folder, "strange");
  await makePictureFolder(strange, { perCell: 1, classes: ["p", "q"] });
  expect(await used("eval", "--data", strange)).toBe(2);
  expect(printed.stderr).toContain("none of the dataset's classes");
});

test("predict reads folders in order, in every format, and prints the distance of each picture", async () => {
  expect(await used("predict", join(data, "sketch"), "--top", "2")).toBe(0);
  const lines = printed.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(18);
  expect(lines[17]).toMatch(/^distance percentile: the percentage of validation pictures that are nearer/);
  expect(printed.stderr).toMatch(
    /^note: the median distance percentile of these 16 pictures is [\d.]+ \(about 50 for pictures like the training pictures\)/m,
  );
  expect(lines[1]).toMatch(
    /sketch\/x\/000\.png\s+[xy]\s+[\d.]+%\s+[xy]\s+[\d.]+%\s+[\d.]+\s+(paint|photo)(\s+(far|uncertain))?$/,
  );
  printed.stdout = "";
  expect(await used("predict", join(data, "sketch"), join(data, "photo", "y", "001.png"), "--format", "csv")).toBe(0);
  const rows = printed.stdout
    .trimEnd()
    .split("\r\n")
    .map((line) => line.split(","));
  expect(rows[0].join()).toBe(
    "picture,class,probability,unknown,distance,distance_percentile,nearest_domain,truncated,problem",
  );
  expect(rows).toHaveLength(18);
  printed.stdout = "";
  expect(await used("predict", join(data, "sketch"), "--json", "--batch-size", "5")).toBe(0);
  const objects = printed.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(objects.map(({ picture }) => picture)).toEqual(rows.slice(1, 17).map(([picture]) => picture));
  for (const [i, { probability, distance }] of objects.entries()) {
    expect(Number(rows[i + 1][2])).toBeCloseTo(probability, 5); // another batch size, another rounding
    expect(distance.percentile).toBeLessThanOrEqual(100);
  }
});

test("predict marks unknown pictures, sorts all into folders by class and unknown, and shows them on a page", async () => {
  const [sorted, html] = [join(folder, "sorted"), join(folder, "predictions.html")];
  const why = join(folder, "why");
  const asked = [
    join(data, "photo"),
    "--unknown",
    "0.5",
    "--copy-to",
    sorted,
    "--html",
    html,
    "--explain",
    why,
    "--json",
  ];
  expect(await used("predict", ...asked)).toBe(0);
  const rows = printed.stdout
    .trimEnd()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as {
          picture: string;
          class: string;
          unknown: string | null;
          distance: { percentile: number };
        },
    );
  const marked = rows.filter(({ unknown }) => unknown !== null);
  expect(marked.length).toBeGreaterThan(0);
  for (const { unknown, distance } of rows) expect(unknown === "far").toBe(distance.percentile > 50);
  const expected = rows.map((row) => `${row.unknown ? "unknown" : row.class}`);
  const copied = readdirSync(sorted).flatMap((name) => readdirSync(join(sorted, name)).map(() => name));
  expect(copied.sort()).toEqual(expected.sort());
  const page = readFileSync(html, "utf8");
  expect(page.match(/<img src="data:image\/webp/g)).toHaveLength(rows.length);
  expect(page).toContain(`<b>${marked.length}</b><span>marked as unknown`);
  expect(readdirSync(why)).toHaveLength(rows.length);
  expect(page.match(/<img class="heat" src="data:image\/png/g)).toHaveLength(rows.length);
  printed.stdout = "";
  expect(await used("predict", join(data, "photo"), "--unknown", "0", "--json")).toBe(0);
  expect(printed.stdout).not.toMatch(/"unknown":"/);
  expect(await used("predict", join(data, "photo"), "--unknown", "2")).toBe(2);
});

test("broken pictures are reported, the others are predicted, and the exit code is 1", async () => {
  const mixed = join(folder, "mixed");
  await makePictureFolder(mixed, { perCell: 1, domains: ["a"] });
  writeFileSync(join(mixed, "a", "x", "broken.png"), "no picture");
  writeFileSync(join(mixed, "a", "x", "notes.txt"), "no picture");
  const [out, html] = [join(folder, "out.csv"), join(folder, "mixed.html")];
  expect(await used("predict", mixed, "--out", out, "--html", html)).toBe(1);
  expect(printed.stdout).toBe("");
  expect(printed.stderr).toContain("1 picture of 3 could not be read");
  const page = readFileSync(html, "utf8");
  expect(page).toContain("<b>1</b><span>could not be read");
  expect(page).toMatch(/<h2>Could not be read<\/h2><ul class="plain"><li>[^<]*broken\.png: could not be decoded/);
  expect(page).not.toContain("The page shows the first");
  expect(printed.stderr).toContain("notes.txt");
  const rows = readFileSync(out, "utf8").trimEnd().split("\r\n");
  expect(rows).toHaveLength(4);
  expect(rows[2]).toMatch(/broken\.png,,,,,,.*could not be decoded/);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  process.exitCode = undefined;
  expect(await used("eval", "--data", mixed)).toBe(1);
  expect(printed.stderr).toContain("1 of 3 pictures could not be read and were skipped");
});

test("a truncated picture is marked in every format, and a picture of any shape is predicted", async () => {
  const odd = join(folder, "odd");
  mkdirSync(odd);
  const noise = { type: "gaussian", mean: 128, sigma: 30 } as const;
  const drawn = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: "red", noise } });
  const whole = await drawn(90, 70).jpeg().toBuffer();
  writeFileSync(join(odd, "cut.jpg"), whole.subarray(0, whole.length / 2));
  writeFileSync(join(odd, "damaged.jpg"), Buffer.from(whole).fill(0, 700, whole.length - 20));
  await drawn(500, 1).png().toFile(join(odd, "thread.png"));
  await drawn(10, 3000).jpeg().toFile(join(odd, "ribbon.jpg"));
  await drawn(70_000, 1).png().toFile(join(odd, "very-long.png"));
  await drawn(140_000, 1).png().toFile(join(odd, "too-long.png"));
  expect(await used("predict", odd, "--json")).toBe(1);
  const rows = printed.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ picture, truncated }) => [basename(picture), truncated])).toEqual([
    ["cut.jpg", true],
    ["damaged.jpg", false],
    ["ribbon.jpg", false],
    ["thread.png", false],
    ["too-long.png", undefined],
    ["very-long.png", false],
  ]);
  expect(printed.stderr).toMatch(
    /damaged\.jpg: the file is damaged; parts of the picture may be wrong \((Corrupt|damaged) JPEG/,
  );
  expect(printed.stderr).toMatch(/too-long\.png: could not be decoded: it has 140000 × 1 pixels/);
  process.exitCode = undefined;
  printed.stdout = "";
  expect(await used("predict", join(odd, "cut.jpg"), join(odd, "thread.png"), "--format", "csv")).toBe(0);
  const [, cut, thread] = printed.stdout.split("\r\n");
  expect([cut.endsWith(",true,"), thread.endsWith(",,")]).toEqual([true, true]);
});

test("usage errors end with exit code 2 and a message", async () => {
  expect(await used("predict", join(folder, "nowhere"))).toBe(2);
  expect(await used("predict", data, "--format", "xml")).toBe(2);
  expect(await used("predict", data, "--top", "0")).toBe(2);
  expect(await used("predict", data, "--out", join(folder, "rows.xlsx"))).toBe(2);
  expect(printed.stderr).toContain("unknown file ending .xlsx; use a name that ends in .txt, .csv, .jsonl");
  expect(await main(["predict", folder, data])).toBe(1);
  expect(printed.stderr).toContain(`this is a folder of runs; choose one of them, such as ${run}`);
  expect(await main(["export", file, "--out", file])).toBe(2);
  expect(printed.stderr).toContain("is the model itself");
  expect(await used("eval")).toBe(2);
  expect(await used("eval", "--data", data, "--domain", "skech")).toBe(2);
  expect(printed.stderr).toContain('did you mean "sketch"?');
  expect(await main(["export", file, "--format", "safetensors", "--input", "pixels"])).toBe(2);
  expect(await main(["export", file, "--format", "safetensors", "--percentile"])).toBe(2);
  const [onnx, bare] = [join(folder, "exported.onnx"), join(folder, "bare.safetensors")];
  writeFileSync(onnx, "any");
  expect(await main(["predict", onnx, data])).toBe(2);
  expect(printed.stderr).toContain("ONNX files are for other programs; use the model it was exported from");
  scope(() => writeWeights(bare, new Map([["conv.weight", zeros([1])]])));
  expect(await main(["predict", bare, data])).toBe(1);
  expect(printed.stderr).toContain("contains weights but no metadata, so it is not a model written by nudge train");
  expect(await main(["predict", join(folder, "run", "checkpoint"), data])).toBe(1);
  expect(await main(["predict", join(run, "checkpoint", "last.safetensors"), data])).toBe(1);
  expect(printed.stderr).toContain("this is a checkpoint and not a model");
});

test("embed writes features with names, and draws them", async () => {
  const out = join(folder, "embedding");
  expect(await used("embed", "--data", data, "--out", out, "--json")).toBe(0);
  const { groups } = jsonPrinted();
  expect(groups.map(({ domain }: { domain: string }) => domain)).toEqual(["all", "paint", "photo", "sketch"]);
  expect(groups[0].samples).toBe(48);
  const figures = ["by-class", "by-domain", "spectrum"].flatMap((name) => [`${name}.png`, `${name}.svg`]);
  expect(readdirSync(out)).toEqual([...figures.slice(0, 4), "features.safetensors", ...figures.slice(4)]);
  using stored = openSafetensors(join(out, "features.safetensors"));
  const names = JSON.parse(stored.metadata.names) as string[];
  using model = await loadModel(file);
  const [first] = await model.features([join(data, names[0])]);
  const rows = scope(() => readWeights(join(out, "features.safetensors")).get("features")!.select(0, 0).toNumbers());
  expect(rows).toEqual(Array.from(first, (value) => expect.closeTo(value, 4)));
  expect(await used("embed", "--data", data, "--out", out, "--format", "csv", "--limit", "2")).toBe(0);
  const csv = readFileSync(join(out, "features.csv"), "utf8").trimEnd().split("\r\n");
  expect([csv.length, csv[1].split(",").length]).toEqual([7, 5 + 8]);
});

test("pictures of other classes are embedded too, with their own class names", async () => {
  const [other, out] = [join(folder, "other-classes"), join(folder, "embedding-2")];
  await makePictureFolder(other, { perCell: 1, domains: ["a"], classes: ["p", "q"] });
  expect(await used("embed", "--data", other, "--out", out)).toBe(0);
  using stored = openSafetensors(join(out, "features.safetensors"));
  expect(JSON.parse(stored.metadata.classes)).toEqual(["p", "q"]);
});

test("an exported ONNX file gives the same logits in onnxruntime, and its card has the accuracies of the run", async () => {
  const onnx = join(folder, "model.onnx");
  expect(await main(["export", run, "--out", onnx, "--json"])).toBe(0);
  expect(jsonPrinted()).toMatchObject({ file: onnx, card: `${onnx}.md` });
  using model = await loadModel(file);
  const session = await InferenceSession.create(onnx);
  const x = new Float32Array(2 * 3 * 224 * 224).map((_, i) => Math.sin(i / 100));
  const { logits } = await session.run({ input: new OrtTensor("float32", x, [2, 3, 224, 224]) });
  const own = (await onTensor(model, x)).flat();
  expect(Array.from(logits.data as Float32Array)).toEqual(own.map((value) => expect.closeTo(value, 4)));
  const card = readFileSync(`${onnx}.md`, "utf8");
  const { records } = readRun(run);
  const { step } = model.about;
  const row = records.find(
    (each) => each.step === step && each.domain === "sketch" && each.split === "in" && each.metric === "accuracy",
  );
  expect(card).toContain(`| sketch | held out, not used for training | ${(100 * row!.value).toFixed(1)} |`);
});

async function onTensor(model: Model, values: Float32Array): Promise<number[][]> {
  const { tensor } = await import("../../src/engine/tensor.js");
  return scope(() => model.forward(tensor(values, { shape: [2, 3, 224, 224] })).logits.toArray() as number[][]);
}

test("an exported safetensors file is still a model, with folded batch norms", async () => {
  const [made, out] = [join(folder, "resnet.safetensors"), join(folder, "folded.safetensors")];
  writeMadeModel(made, { backbone: "resnet18", inputShape: [3, 32, 32] });
  expect(await main(["export", made, "--out", out])).toBe(0);
  using before = await loadModel(made);
  using after = await loadModel(out);
  const picture = join(data, "photo", "x", "000.png");
  const [[a], [b]] = [await before.logits([picture]), await after.logits([picture])];
  const scale = Math.max(...a.map(Math.abs));
  for (const [i, value] of a.entries()) expect(Math.abs(value - b[i]) / scale).toBeLessThan(1e-4);
  scope(() => {
    const tensors = readWeights(out);
    expect(
      tensors
        .get("backbone.layer1.0.bn1.weight")!
        .toNumbers()
        .every((value) => value === 1),
    ).toBe(true);
    expect(tensors.get("backbone.layer2.0.downsample.1.running_mean")!.abs().max().item()).toBe(0);
  });
  using file = openSafetensors(out);
  expect(JSON.parse(file.metadata.classes)).toEqual(["cat", "dog", "fox"]);
});

test("generated pictures are evaluated as the run recorded, and other sizes are refused", async () => {
  const shapes = join(folder, "shapes-run");
  const plan = await resolve({
    data: "shapes",
    "data.perCell": 3,
    "data.size": 16,
    testDomains: "inverted",
    steps: 2,
    evaluateFirst: false,
    batchSize: 4,
    threads: 1,
  });
  using owned = await RunFolder.own(shapes);
  owned.writeJson("settings.json", plan.settings);
  await train({ plan, folder: owned });
  // Records are of the logits as they are: without the temperature, so that the losses can be compared.
  const uncalibrated = join(folder, "uncalibrated.safetensors");
  const about = { ...readModelAbout(shapes), calibration: null };
  scope(() =>
    writeWeights(uncalibrated, readWeights(join(shapes, "model.safetensors")), { nudge: JSON.stringify(about) }),
  );
  const eval16 = [
    "eval",
    uncalibrated,
    "size=16",
    "perCell=3",
    "--data",
    "shapes",
    "--domain",
    "inverted",
    "--json",
    "--threads",
    "1",
  ];
  expect(await main(eval16)).toBe(0);
  const rows = readRun(shapes).records.filter(
    ({ step, metric, domain }) => step === 1 && metric === "loss" && domain === "inverted",
  );
  const parts = plan.split.get("inverted")!;
  const loss = rows.reduce((sum, { split, value }) => sum + (value * parts[split as "in"].length) / 21, 0);
  expect(jsonPrinted().overall.loss).toBeCloseTo(loss, 5);
  expect(jsonPrinted().overall.count).toBe(21);
  expect(await main(["eval", shapes, "size=24", "--data", "shapes"])).toBe(2);
  expect(printed.stderr).toContain("expected samples [3, 16, 16]");
});

test("a file of format 1 still loads, predicts, and reports that it has no distance percentile", async () => {
  const old = join(folder, "old.safetensors");
  const made = writeMadeModel(join(folder, "made.safetensors"));
  writeMadeModel(old, {
    about: {
      format: 1,
      backboneOptions: undefined,
      dataset: undefined,
      domains: undefined,
      testDomains: undefined,
      prediction: undefined,
      distance: undefined,
      preprocessing: {
        inputShape: [3, 8, 8],
        resize: "to exactly this size",
        mean: [0.485, 0.456, 0.406],
        std: [0.229, 0.224, 0.225],
      },
      settings: {
        dataset: "made",
        domains: ["photo", "paint", "sketch"],
        testDomains: ["sketch"],
        algorithm: "mixup",
        hparams: { freezeBatchNorm: true, nonlinearClassifier: false },
      },
    },
  });
  using model = await loadModel(old);
  expect(model.about).toMatchObject({ domains: ["photo", "paint"], dataset: "made", distance: null });
  const picture = join(data, "photo", "x", "000.png");
  using same = await loadModel(join(folder, "made.safetensors"));
  expect(made.format).toBe(MODEL_FORMAT);
  expect(await model.logits([picture])).toEqual(await same.logits([picture]));
  expect((await model.predict(picture)).distance).toBe(null);
  expect(await main(["export", old, "--out", join(folder, "old.onnx")])).toBe(0); // by trying: mixup predicts plainly
  expect(await main(["predict", old, picture])).toBe(0);
  expect(printed.stdout).toContain("this model file has no distance score");
});

test("the library example describes pictures and leaves no tensors behind", async () => {
  const before = liveTensors();
  const picture = join(data, "photo", "x", "000.png");
  const [line] = await describePictures(file, [picture]);
  expect(line).toMatch(new RegExp(`^${picture}: [xy] \\(\\d+ %\\)`));
  expect(liveTensors()).toBe(before);
});

test("every command and the program of docs/models.md run as written", async () => {
  const text = readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8");
  const blocks = (kind: string): string[] =>
    fencedBlocks(text).flatMap(({ language, body }) => (language === kind ? [body] : []));
  const commands = blocks("sh").flatMap((body) => body.trim().split("\n"));
  expect(commands.length).toBeGreaterThan(8);
  const place = join(folder, "docs");
  mkdirSync(join(place, "runs"), { recursive: true });
  for (const [target, link] of [
    [run, "runs/first"],
    [data, "pictures"],
  ])
    symlinkSync(target, join(place, link));
  await trainOne(join(place, "runs/second"), 2e-4);
  await trainOne(join(place, "runs/third"), 3e-4);
  const before = process.cwd();
  process.chdir(place);
  try {
    for (const command of commands) {
      const args = command
        .replace(/\s+#.*$/, "")
        .split(/\s+/)
        .slice(1);
      const quick = args[0] === "export" || args[0] === "soup" ? [] : ["--threads", "1"]; // other tests run beside this one
      expect([command, await main([...args, ...quick])]).toEqual([command, 0]);
    }
    writeFileSync(join(place, "program.mjs"), blocks("js").join("\n"));
    const log = vi.spyOn(console, "log").mockReturnValue();
    await import(join(place, "program.mjs"));
    expect(log.mock.calls.map(([first]) => first)).toEqual([expect.stringMatching(/^[xy]$/), 0, 1, 8]);
  } finally {
    process.chdir(before);
  }
  const written = [
    "embedding",
    "eval.html",
    "figures",
    "for-others.safetensors",
    "from-code.onnx",
    "model.onnx",
    "pixels.onnx",
  ];
  expect(readdirSync(place)).toEqual(expect.arrayContaining([...written, "predictions.csv"]));
});

test("the example server responds, and rejects invalid requests", async () => {
  const { port, close } = await serve(file, 0);
  try {
    const at = `http://127.0.0.1:${port}`;
    expect(await (await fetch(at)).json()).toEqual({ classes: ["x", "y"], domains: ["paint", "photo"] });
    const body = readFileSync(join(data, "photo", "x", "000.png"));
    const post = (sent: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
      fetch(`${at}/predict`, { method: "POST", body: sent });
    const answer = (await (await post(body)).json()) as { class: string; distance: { nearest: string } };
    expect(["x", "y"]).toContain(answer.class);
    expect(["paint", "photo"]).toContain(answer.distance.nearest);
    const broken = await post("no picture");
    expect([broken.status, await broken.json()]).toEqual([
      422,
      { error: expect.stringContaining("could not be decoded") },
    ]);
    const form = new FormData();
    form.append("picture", new Blob([body]));
    expect((await fetch(`${at}/predict`, { method: "POST", body: form })).status).toBe(415);
    expect((await post(new Uint8Array(21 * 2 ** 20))).status).toBe(413);
    await expect(serve(file, port)).rejects.toThrow("EADDRINUSE");
    expect((await fetch(`${at}/../etc/passwd`)).status).toBe(404);
    expect((await fetch(`${at}/predict`)).status).toBe(405);
    const { request: ask } = await import("node:http");
    const foreign = await new Promise<number | undefined>((done, fail) => {
      ask({ host: "127.0.0.1", port, path: "/", headers: { host: "evil.example" } }, (got) =>
        done(got.resume().statusCode),
      )
        .on("error", fail)
        .end();
    });
    expect(foreign).toBe(403);
    expect(existsSync(file)).toBe(true);
    expect((await post(body)).status).toBe(200); // it is still there
  } finally {
    await close();
  }
});
