import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeFile } from "../../tests/support/picture-folder.js";
import { backboneNamed } from "../backbones/index.js";
import type { Request } from "../declared-settings/keys.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { writeWeights } from "../engine/weights.js";
import {
  evaluationFraming,
  preprocessingWords,
  publishedFramingOf,
  recordedRequest,
  scalingOf,
} from "./preprocessing.js";
import { resolve } from "./resolve.js";
import type { TrainSettings } from "./settings.js";

const place = mkdtempSync(join(tmpdir(), "nudge-preprocessing-"));
const [own, weights] = [join(place, "own"), join(place, "b1.safetensors")];
afterAll(() => rmSync(place, { recursive: true }));

beforeAll(async () => {
  for (const domain of ["shop", "web"])
    for (const label of ["cat", "dog"])
      for (let i = 0; i < 4; i++) {
        const background = { r: 40 * i, g: label === "cat" ? 20 : 200, b: domain === "web" ? 90 : 0 };
        const picture = sharp({ create: { width: 12, height: 8, channels: 3, background } });
        writeFile(own, `${domain}/${label}/${i}.png`, await picture.png().toBuffer());
      }
  scope(() => {
    using backbone = backboneNamed("efficientnet_b1").build();
    backbone.initialize(new Random(0));
    writeWeights(weights, new Map(backbone.stateDict()));
  });
});

const settingsOf = async (request: Request = {}) =>
  (await resolve({ data: own, testDomains: "web", backbone: "efficientnet_b1", weights, ...request })).settings;

const wordsOf = (settings: TrainSettings): string | undefined =>
  preprocessingWords(settings, { isOwn: true, published: publishedFramingOf(settings) });

test("own pictures are prepared as the weights were evaluated, and the request repeats it whatever the defaults are", async () => {
  const settings = await settingsOf();
  expect(settings).toMatchObject({ preprocessing: "weights", size: 240, resize: 256, interpolation: "bicubic" });
  expect(settings.inputShape).toEqual([3, 240, 240]);
  expect(evaluationFraming(settings)).toEqual({ resize: 256, interpolation: "bicubic" });
  expect(scalingOf(settings)).toEqual({ shortSide: 256, filter: "bicubic" });
  expect(settings.request).toMatchObject({
    preprocessing: "weights",
    size: 240,
    resize: 256,
    interpolation: "bicubic",
  });
  expect(settings.fixed).toEqual({ backbone: "efficientnet_b1" });
  expect((await resolve(settings.request)).settings).toMatchObject({ hash: settings.hash, fixed: {} });
  expect(wordsOf(settings)).toBe(
    "pictures at evaluation: short side resized to 256, centre cropped to 240 × 240 (bicubic), as the publisher of the weights evaluates them",
  );
  expect(wordsOf({ ...settings, weights: null, weightsHash: null })).toBe(
    "pictures at evaluation: short side resized to 256, centre cropped to 240 × 240 (bicubic)",
  );
});

test("a size of one's own keeps the share that is cropped, also at another size of evaluation", async () => {
  const settings = await settingsOf({ size: 120, evaluationSize: 60, interpolation: "bilinear" });
  expect(settings).toMatchObject({ size: 120, resize: 128, interpolation: "bilinear", evaluationSize: 60 });
  expect(evaluationFraming(settings)).toEqual({ resize: 64, interpolation: "bilinear" });
  expect((await resolve(settings.request)).settings.hash).toBe(settings.hash);
  expect(wordsOf(settings)).toBe(
    "pictures at evaluation: short side resized to 64, centre cropped to 60 × 60 (bilinear); the publisher of the weights evaluates with: short side resized to 256, centre cropped to 240 × 240 (bicubic)",
  );
});

test("DomainBed's way is that of runs from before there was a choice, and has their names", async () => {
  const settings = await settingsOf({ preprocessing: "domainbed" });
  for (const name of ["size", "resize", "interpolation"]) expect(settings).not.toHaveProperty(name);
  expect(settings.inputShape).toEqual([3, 224, 224]);
  expect(scalingOf(settings)).toEqual({ shortSide: 256 });
  expect(wordsOf(settings)).toBe(
    "pictures at evaluation: the whole picture resized to 224 × 224 (bilinear), as in DomainBed",
  );
  expect(preprocessingWords(settings, { isOwn: false })).toBeUndefined(); // on a benchmark it is what everyone expects
  const { preprocessing: _, ...old } = settings.request;
  expect((await resolve(recordedRequest(old))).settings.hash).toBe(settings.hash);
  expect((await resolve({ ...old, resize: "stretch" })).settings.hash).not.toBe(settings.hash); // with the present defaults
  const explicit = await settingsOf({ preprocessing: "domainbed", resize: 256, interpolation: "bicubic" });
  expect(explicit).toMatchObject({ resize: 256, interpolation: "bicubic", fixed: { resize: 256 } });
  expect(wordsOf(explicit)).toBe(
    "pictures at evaluation: short side resized to 256, centre cropped to 224 × 224 (bicubic)",
  );
});

test("pictures without trained weights, and generated ones, are prepared as in DomainBed", async () => {
  const random = await settingsOf({ weights: null, pretrained: false });
  expect(random).toMatchObject({ preprocessing: "domainbed", inputShape: [3, 224, 224] });
  const { settings } = await resolve({ data: "shapes", testDomains: "filled" });
  expect(settings).not.toHaveProperty("preprocessing");
});

test.each([
  [{ resize: 200 }, "resize=200: expected at least the size of the pictures, 240"],
  [{ resize: "centre" }, "resize: expected"],
  [{ interpolation: "cubic" }, 'unknown interpolation "cubic": did you mean "bicubic"?'],
  [{ weights: null, pretrained: false, preprocessing: "weights" }, "preprocessing=weights: the run starts from random"],
  [{ data: "shapes", testDomains: "filled", size: 64 }, "size: expected a dataset of picture files"],
])("%o is refused", async (request, message) => {
  await expect(settingsOf(request as Request)).rejects.toThrow(message);
});

test("a truncated file of weights leaves the usual preprocessing, and loading it reports what is wrong", async () => {
  const broken = join(place, "broken.safetensors");
  writeFileSync(broken, Buffer.alloc(20));
  expect(await settingsOf({ weights: broken })).toMatchObject({ size: 224, resize: 256, interpolation: "bilinear" });
});
