import { expect, test } from "vitest";
import { pictureBytes, temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { openDataset } from "../data/open-dataset.js";
import { evaluationSizeFor } from "./defaults.js";

test("large pictures are evaluated at 288 pixels, where the network and its weights are for 224", async () => {
  const root = temporaryFolder();
  for (const name of ["shop/cat/1.png", "shop/dog/2.png", "web/cat/3.png", "web/dog/4.png"])
    writeFile(root, name, await pictureBytes(name, name.length, { width: 400, height: 300 }));
  const dataset = await openDataset(root);
  expect(evaluationSizeFor(dataset, { backbone: "resnet50" })).toBe(288);
  expect(evaluationSizeFor(dataset, { backbone: "vit_b_16" })).toBe(288);
  expect(evaluationSizeFor(dataset, { backbone: "dinov2_vits14" })).toBe(280); // a multiple of the patch
  expect(evaluationSizeFor(dataset, { backbone: "efficientnet_b4" })).toBeUndefined(); // expects 380
  expect(evaluationSizeFor(dataset, { backbone: "vit_b_16", weights: "vit_b_16.swag" })).toBeUndefined();
  expect(evaluationSizeFor(dataset, { backbone: "resnet50", size: 160 })).toBeUndefined();
});
