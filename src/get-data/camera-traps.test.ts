import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import { terraIncognita } from "../data/datasets/terra-incognita.js";
import { arrange } from "./arrange.js";

test("camera traps are sorted by location and annotated category, others are not used", async () => {
  const [from, to] = [temporaryFolder(), join(temporaryFolder(), "terra")];
  const images = ["38", "46", "100", "43", "7"].map((location, i) => ({
    id: `i${i}`,
    file_name: `${i}.jpg`,
    location,
  }));
  for (const { file_name } of images) writeFile(from, `eccv_18_all_images_sm/${file_name}`, file_name);
  const categories = [{ id: 1, name: "bobcat" }, { id: 2, name: "empty" }, { id: 9, name: "car" }]; // biome-ignore format: short
  const first = [0, 1, 2, 3, 4].map((i) => ({ image_id: `i${i}`, category_id: 1 }));
  const second = [{ image_id: "i0", category_id: 2 }, { image_id: "i0", category_id: 9 }, { image_id: "gone", category_id: 1 }]; // biome-ignore format: short
  const list = "eccv_18_annotation_files";
  writeFile(from, `${list}/train.json`, JSON.stringify({ images, annotations: first, categories }));
  writeFile(from, `${list}/val.json`, JSON.stringify({ images: [], annotations: second, categories }));
  expect(await arrange(terraIncognita, from, to)).toEqual([]);
  expect(readdirSync(to).sort()).toEqual(["location_100", "location_38", "location_43", "location_46"]);
  expect(readdirSync(join(to, "location_38")).sort()).toEqual(["bobcat", "empty"]); // two annotations, two places
  expect(existsSync(join(to, "location_38", "empty", "0.jpg"))).toBe(true);
});
