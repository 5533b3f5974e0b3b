/** Pictures are prepared in the same way by training's evaluation, a probe, and the model that was written. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDataset } from "../../src/data/open-dataset.js";
import { evaluate } from "../../src/library/evaluate.js";
import { train } from "../../src/library/train.js";
import { writeFile } from "../support/picture-folder.js";

const place = mkdtempSync(join(tmpdir(), "nudge-preprocessing-"));
const data = join(place, "own");
afterAll(() => rmSync(place, { recursive: true }));

/** A wide picture whose class is in its centre, with stripes of another colour at both ends. */
async function drawn(label: number, i: number, width: number, height: number, ends = i): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < width * height; at++) {
    const x = at % width;
    const isEnd = x < width / 6 || x > (5 * width) / 6;
    pixels.set(isEnd ? [255, 0, (40 * ends) % 256] : label ? [20, 200 - 3 * i, 60] : [90, 30 + 2 * i, 200], at * 3);
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

beforeAll(async () => {
  for (const [d, domain] of ["shop", "street", "web"].entries())
    for (const label of [0, 1])
      for (let i = 0; i < 6; i++) {
        const size = [70 + 9 * i, 40 + 5 * d] as const;
        writeFile(data, `${domain}/${["cat", "dog"][label]}/${i}.png`, await drawn(label, i, ...size));
      }
});

const kinds: { name: string; more: Record<string, string | number> }[] = [
  { name: "a trained network", more: {} },
  { name: "a probe", more: { probe: "sgd" } },
  { name: "another size at evaluation", more: { evaluationSize: 48 } },
];

test.each(kinds)("$name: the model prepares pictures as training's evaluation did", async ({ more }) => {
  const dataset = await openDataset(data);
  const trained = async (framing: Record<string, string | number>) =>
    train({
      ...{ dataset, testDomains: ["web"], backbone: "toy-cnn", pretrained: false, threads: 1 },
      ...{ steps: 12, evaluateEvery: 12, settings: { batchSize: 4, cache: "false", size: 32, ...framing, ...more } },
    });
  using run = await trained({ resize: 36, interpolation: "bicubic" });
  const side = "evaluationSize" in more ? 48 : 32;
  const { about } = run.model;
  expect(about).toMatchObject({
    format: 3,
    preprocessing: { inputShape: [3, side, side], resize: (36 * side) / 32, interpolation: "bicubic", shortSide: 256 },
  });
  const { domains } = await evaluate(run.model, data);
  for (const { name, accuracy } of run.assessment.domains.filter(({ name }) => name === "web"))
    expect(domains.find(({ domain }) => domain === name)!.accuracy, name).toBeCloseTo(accuracy!, 12);
  // The ends lie outside the crop, so what is on them changes nothing; of the whole picture they are a part.
  const pictures = await Promise.all([0, 1].map((ends) => drawn(1, 3, 96, 30, ends)));
  const [a, b] = await run.model.logits(pictures);
  expect(b).toEqual(a);
  using whole = await trained({ resize: "stretch" });
  expect(whole.model.about.format).toBe(2);
  const [c, d] = await whole.model.logits(pictures);
  expect(d).not.toEqual(c);
});
