import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pictureBytes, temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { backbones } from "../backbones/index.js";
import type { PictureDataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { writeWeights } from "../engine/weights.js";
import { atEvaluation, scalingOf } from "../settings/preprocessing.js";
import { resolve } from "../settings/resolve.js";
import { defaultScaling } from "./default-scaling.js";
import { recipeRequests } from "./recipe-plan.js";

beforeEach(() => {
  vi.stubEnv("NUDGE_WEIGHTS", "");
  vi.stubEnv("XDG_CACHE_HOME", temporaryFolder());
});
afterEach(() => void vi.unstubAllEnvs());

async function folderOf(width: number): Promise<PictureDataset> {
  const root = temporaryFolder();
  for (const domain of ["shop", "web"])
    for (const name of ["cat", "dog"])
      for (let i = 0; i < 3; i++)
        writeFile(
          root,
          `${domain}/${name}/${i}.png`,
          await pictureBytes("0.png", i + 10 * domain.length + name.charCodeAt(0), { width, height: width }),
        );
  return (await openDataset(root)) as PictureDataset;
}

/** A file with the names of the tensors of MobileNetV2 and almost no data. */
function weights(): string {
  const path = `${temporaryFolder()}/mobilenet_v2.safetensors`;
  using backbone = backbones.mobilenet_v2.build({});
  const names = [...backbone.stateDict().keys()];
  scope(() => writeWeights(path, new Map(names.map((each) => [each, zeros([1])]))));
  return path;
}

test.each([
  { width: 300, shortSide: 329 },
  { width: 230, shortSide: 256 },
])("pictures of $width pixels are cached as both stages of nudge train read them", async ({ width, shortSide }) => {
  const dataset = await folderOf(width);
  const file = weights();
  vi.stubEnv("NUDGE_WEIGHTS", file);
  const scaling = defaultScaling(dataset);
  expect(scaling).toEqual({ shortSide, filter: "bilinear" });
  const { probe, finetune } = recipeRequests(dataset, { data: dataset.root, testDomains: [] }, "cpu");
  for (const request of [probe, finetune]) {
    const { settings } = await resolve(request);
    expect(scalingOf(settings)).toEqual(scaling);
    expect(scalingOf(atEvaluation(settings))).toEqual(scaling); // features are computed at this size
  }
  vi.stubEnv("NUDGE_WEIGHTS", "");
  expect(defaultScaling(dataset), "without weights, those that are offered for download").toEqual(scaling);
  expect(defaultScaling(dataset, file)).toEqual(scaling);
});

test("a benchmark is cached as its protocol reads it", () => {
  const pacs = { id: "pacs", kind: "pictures", inputShape: [3, 224, 224], domains: [] } as unknown as PictureDataset;
  expect(defaultScaling(pacs)).toEqual({ shortSide: 256 });
});
