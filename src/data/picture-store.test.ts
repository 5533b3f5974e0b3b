import { expect, test } from "vitest";
import { openDataset } from "./open-dataset.js";
import { openPictures } from "./picture-store.js";

test("a dataset of arrays has no pictures to open", async () => {
  const dataset = await openDataset("shapes", { options: { perCell: 2, size: 16 } });
  await expect(openPictures(dataset)).rejects.toThrow("dataset shapes has arrays and no picture files");
});
