/** A probe with neighbours from its run to its model: predictions, heat maps, exports and damaged files. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import type { PictureDataset } from "../data/dataset.js";
import type { Request } from "../declared-settings/keys.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { exportOnnx } from "../export/export-onnx.js";
import { METADATA_KEY } from "../model/about.js";
import { heatMaps } from "../model/heat-map.js";
import { loadModel } from "../model/index.js";
import { readRecords } from "../records/store.js";
import { resolve } from "../settings/resolve.js";
import { RunFolder } from "./run-folder.js";
import { train } from "./train.js";

const root = mkdtempSync(join(tmpdir(), "nudge-neighbours-"));
let pictures: PictureDataset;
beforeAll(async () => {
  pictures = await makePictureFolder(join(root, "pictures"), { perCell: 8, domains: ["shop", "street", "studio"] });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function made(name: string, request: Request, shouldStop?: () => boolean) {
  const base: Request = { data: pictures.root, testDomains: "shop", backbone: "mobilenet_v2", pretrained: false };
  const own = { ...base, size: 32, probe: "exact", probeC: 0.01, cache: join(root, "cache"), threads: 1, ...request };
  const plan = await resolve(own);
  using folder = await RunFolder.own(join(root, name));
  const { done } = await train({ plan, folder, shouldStop });
  return { path: folder.path, plan, done, records: readRecords(folder.records).records };
}

test("the model file stores the training pictures' features, and predicts what the run measured", async () => {
  const { path, plan, records } = await made("run", { neighbours: true, refit: false });
  using model = await loadModel(path);
  const stored = plan.split.get("street")!.in.length + plan.split.get("studio")!.in.length;
  expect(model.about.prediction).toEqual({ kind: "plain", classifier: "neighbours", stored });
  expect(model.about.format).toBe(4);
  const { files, labels } = pictures.domains[0];
  const found = await model.predict(files.map((file) => join(pictures.root, file)));
  const right = found.filter(({ label }, i) => model.classes.indexOf(label) === labels[i]).length;
  const own = records.filter(({ domain, metric }) => domain === "shop" && metric === "accuracy");
  const counted = own.reduce((sum, { split, value }) => sum + value * plan.split.get("shop")![split as "in"].length, 0);
  expect(right).toBe(Math.round(counted));
  expect(found[0].top.reduce((sum, { probability }) => sum + probability, 0)).toBeLessThanOrEqual(1 + 1e-9);
  // The plan of the backbone, with the vote after it, gives what one pass gives.
  expect(model.network.hasPlan).toBe(true);
  scope(() => {
    const x = new Random(0).normal_(empty([2, 3, 32, 32]));
    const { features } = model.forward(x);
    expect(features.shape).toEqual([2, model.width]);
    expect(heatMaps(model, x, [0, 1])).toHaveLength(2);
  });
  using x = new Random(1).normal_(empty([3, 3, 32, 32]));
  const aside = await model.forwardAside(x);
  scope(() => expect(aside.logits.sub(model.forward(x).logits).abs().max().item()).toBeLessThan(1e-3));
  for (const each of Object.values(aside)) each.dispose();
});

test("ONNX has the vote, for any batch size", async () => {
  const { path } = await made("run", { neighbours: true, refit: false });
  using model = await loadModel(path);
  const onnx = join(root, "model.onnx");
  exportOnnx(model, onnx);
  const session = await InferenceSession.create(onnx, { intraOpNumThreads: 1 });
  for (const count of [1, 3]) {
    using x = new Random(count).normal_(empty([count, 3, 32, 32]));
    const { logits } = await session.run({ input: new OrtTensor(x.data() as Float32Array, x.shape) });
    const own = scope(() => model.forward(x).logits.toNumbers());
    for (const [i, value] of own.entries()) expect((logits.data as Float32Array)[i]).toBeCloseTo(value, 3);
  }
  await session.release();
});

test("refit stores the validation pictures too", async () => {
  const { path, plan } = await made("refit", { neighbours: true, refit: true });
  using model = await loadModel(path);
  const count = (name: string): number => plan.split.get(name)!.in.length + plan.split.get(name)!.out.length;
  expect(model.about.prediction).toMatchObject({ stored: count("street") + count("studio") });
  const { files } = pictures.domains[1];
  const { label } = await model.predict(join(pictures.root, files[0]));
  expect(model.classes).toContain(label);
});

test("a run without neighbours keeps its name, and one with them has another", async () => {
  const base: Request = { data: pictures.root, testDomains: "shop", backbone: "toy-cnn", pretrained: false };
  const hash = async (more: Request) => (await resolve({ ...base, probe: "exact", ...more })).settings.hash;
  expect(await hash({ neighbours: false })).toBe(await hash({}));
  expect(await hash({ neighbours: true })).not.toBe(await hash({}));
});

test("a file that claims more stored pictures than it has numbers is refused before memory is allocated", async () => {
  const { path } = await made("run", { neighbours: true, refit: false });
  const file = join(path, "model.safetensors");
  using whole = await loadModel(path);
  const about = { ...whole.about, prediction: { ...whole.about.prediction, stored: 900_000 } };
  const damaged = join(root, "damaged.safetensors");
  scope(() => writeWeights(damaged, readWeights(file), { [METADATA_KEY]: JSON.stringify(about) }));
  await expect(loadModel(damaged)).rejects.toThrow("prediction.stored: 900000 pictures, but only");
});
