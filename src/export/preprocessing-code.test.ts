/** The code of the model card is run as it stands, and its numbers are held to those of the model itself. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import sharp, { type Sharp } from "sharp";
import { expect, onTestFinished, test } from "vitest";
import { storedColours, writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import type { Framing } from "../data/framing.js";
import { scope } from "../engine/scope.js";
import { loadModel, type Model } from "../model/index.js";
import { preprocessingCode } from "./preprocessing-code.js";

/** A Python with Pillow and NumPy; undefined where there is none. */
const python = ["python3", "/usr/bin/python3"].find((command) => {
  try {
    execFileSync(command, ["-c", "import numpy, PIL"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

/** A picture with edges, gradients and colours, so that every step shows. */
function drawn(width: number, height: number): Sharp {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const inside = (x - width / 2) ** 2 + (y - height / 3) ** 2 < (height / 4) ** 2;
      pixels.set(
        [(255 * x) / width, inside ? 230 : (255 * y) / height, ((x >> 3) + (y >> 3)) % 2 ? 200 : 40],
        (y * width + x) * 3,
      );
    }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

/** The picture with an alpha channel that is 0 in a part of it. */
const withAlpha = (picture: Sharp): Sharp => {
  const alpha = Buffer.from(Uint8Array.from({ length: 620 * 500 }, (_, i) => Math.max(0, (i % 620) - 200) % 256));
  return picture.joinChannel(alpha, { raw: { width: 620, height: 500, channels: 1 } }).png();
};

/** DomainBed's way, and those of two publishers of weights. */
const framings: { name: string; framing: Framing }[] = [
  { name: "the whole picture", framing: {} },
  { name: "the centre, bilinear", framing: { resize: 110, interpolation: "bilinear" } },
  { name: "the centre, bicubic", framing: { resize: 101, interpolation: "bicubic" } },
  { name: "the whole picture, bicubic", framing: { interpolation: "bicubic" } },
];

async function setUp(framing: Framing): Promise<{ folder: string; model: Model; files: string[] }> {
  const folder = temporaryFolder();
  const inputShape = [3, 96, 96];
  const preprocessing = { kind: "pictures", inputShape, shortSide: 256, ...framing, ...storedColours };
  writeMadeModel(join(folder, "model.safetensors"), { inputShape, about: { preprocessing } });
  const model = await loadModel(join(folder, "model.safetensors"));
  onTestFinished(() => model.dispose());
  const files: string[] = [];
  const add = async (name: string, picture: Sharp): Promise<void> => {
    await picture.toFile(join(folder, name));
    files.push(join(folder, name));
  };
  await add("small.png", drawn(120, 200)); // smaller than the short side: one resize
  await add("large.png", drawn(700, 460));
  await add("large.jpg", drawn(640, 400).jpeg({ quality: 92 }));
  await add("huge.jpg", drawn(1500, 1300).jpeg({ quality: 92 })); // decoded at half its size
  await add("turned.png", drawn(500, 380).withMetadata({ orientation: 6 }).png());
  await add("photo.webp", drawn(900, 620).webp({ quality: 80 }));
  await add("alpha.png", withAlpha(drawn(620, 500)));
  await add("grey-alpha.png", withAlpha(drawn(620, 500).greyscale().toColourspace("b-w")));
  await add("sixteen.png", drawn(620, 500).toColourspace("rgb16").png());
  await add("grey-sixteen.png", drawn(620, 500).toColourspace("grey16").png());
  await add("cmyk.jpg", drawn(620, 500).toColourspace("cmyk").jpeg());
  await add("plain.gif", drawn(620, 500).gif());
  await add("scan.tiff", drawn(620, 500).tiff());
  await add("palette.png", drawn(620, 500).png({ palette: true }));
  await add("turned.jpg", drawn(500, 380).withMetadata({ orientation: 6 }).jpeg({ quality: 92 }));
  return { folder, model, files };
}

/** What the model's own preprocessing makes of a file. */
async function ownTensor(model: Model, file: string): Promise<number[]> {
  const picture = await model.decode(readFileSync(file));
  return scope(() => model.tensorOf([picture])!.toNumbers());
}

/** The largest and the mean difference, in steps of a pixel's 255. */
function difference(a: ArrayLike<number>, b: readonly number[]): { most: number; mean: number } {
  const steps = b.map((value, i) => Math.abs(value - a[i]) * 255 * 0.225);
  return { most: Math.max(...steps), mean: steps.reduce((sum, each) => sum + each, 0) / steps.length };
}

test.each(framings)("the JavaScript of a card gives the model's own numbers: $name", async ({ framing }) => {
  const { folder, model, files } = await setUp(framing);
  const code = preprocessingCode(model.about, "normalised")!.javascript;
  const place = join(folder, "preprocess.mjs");
  writeFileSync(place, code.replace('from "sharp"', `from ${JSON.stringify(import.meta.resolve("sharp"))}`));
  const { preprocess } = (await import(pathToFileURL(place).href)) as {
    preprocess(file: string): Promise<Float32Array>;
  };
  for (const file of files) {
    expect(difference(await preprocess(file), await ownTensor(model, file)).most, file).toBeLessThan(1e-4);
  }
});

test.skipIf(!python).each(framings)(
  "the Python of a card gives the model's own numbers, but for another decoder (needs Pillow): $name",
  async ({ framing }) => {
    const { folder, model, files } = await setUp(framing);
    writeFileSync(join(folder, "card.py"), preprocessingCode(model.about, "normalised")!.python);
    const program = "import sys, card; [card.preprocess(f).astype('float32').tofile(f + '.raw') for f in sys.argv[1:]]";
    execFileSync(python!, ["-c", program, ...files], { cwd: folder });
    for (const file of files) {
      const bytes = readFileSync(`${file}.raw`);
      const found = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      const { most, mean } = difference(found, await ownTensor(model, file));
      // Pillow is what the last resize follows, byte for byte; scaling down before it is another library's.
      const [atMost, onAverage] = file.endsWith("small.png")
        ? [0, 0]
        : file.endsWith("huge.jpg") || file.endsWith("cmyk.jpg")
          ? [6, 0.7]
          : framing.interpolation
            ? [2.1, 0.5] // these filters keep less of what is fine, so that a step more or less shows
            : [1.1, 0.25];
      expect(most, file).toBeLessThanOrEqual(atMost);
      expect(mean, file).toBeLessThanOrEqual(onAverage);
    }
  },
);

test("pixels come as bytes for a file that normalises by itself", async () => {
  const { model } = await setUp({});
  const code = preprocessingCode(model.about, "pixels")!;
  expect(code.javascript).toContain("Uint8Array [96, 96, 3]");
  expect(code.python).toContain("uint8 [96, 96, 3]");
  expect(code.javascript + code.python).not.toContain("mean");
});
