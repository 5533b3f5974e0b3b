import sharp from "sharp";
import { expect, test } from "vitest";
import { heatPicture, heatUri } from "./heat-picture.js";

test("a heat map is drawn in one hue, its strength in the opacity, at the size of the picture", async () => {
  const drawn = await heatPicture([[0, 1]], { width: 40, height: 20 });
  const { data, info } = await sharp(drawn).raw().toBuffer({ resolveWithObject: true });
  expect([info.width, info.height, info.channels]).toEqual([40, 20, 4]);
  expect(data[3]).toBeLessThan(20);
  expect(data.at(-1)).toBeGreaterThan(160);
});

test("on a page it has the proportions of its picture, at the size of a thumbnail", async () => {
  const uri = await heatUri([[1]], { width: 1440, height: 720 });
  const { width, height } = await sharp(Buffer.from(uri.split(",")[1], "base64")).metadata();
  expect([width, height]).toEqual([144, 72]);
});
