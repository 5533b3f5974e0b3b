import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { pictureBytes, temporaryFolder } from "../../tests/support/picture-folder.js";
import { liveTensors } from "../engine/device.js";
import { DataError } from "../errors.js";
import { loadModel } from "./load-model.js";
import type { Model } from "./model.js";
import { PictureBatcher } from "./picture-batcher.js";

/** A small model, and a dozen pictures. */
async function setUp(): Promise<{ model: Model; pictures: Uint8Array[] }> {
  const path = join(temporaryFolder(), "model.safetensors");
  writeMadeModel(path, { inputShape: [3, 16, 16] });
  const model = await loadModel(path);
  onTestFinished(() => model.dispose());
  const pictures: Uint8Array[] = [];
  for (let i = 0; i < 12; i++) pictures.push(await pictureBytes("a.png", i, { width: 20 + i, height: 30 }));
  return { model, pictures };
}

test("pictures that come at once share batches, and each gets its own answer", async () => {
  const { model, pictures } = await setUp();
  const batcher = new PictureBatcher(model, { batchSize: 5 });
  const expected = await model.predict(pictures);
  const found = await Promise.all(pictures.map((bytes, i) => batcher.predict(bytes, { top: 1 + (i % 3) })));
  for (const [i, { label, probability, top, logits }] of found.entries()) {
    expect(label).toBe(expected[i].label);
    expect(probability).toBeCloseTo(expected[i].probability, 5);
    expect(top).toHaveLength(1 + (i % 3));
    for (const [k, logit] of logits.entries()) expect(logit).toBeCloseTo(expected[i].logits[k], 4);
  }
  expect(batcher.pictures).toBe(12);
  expect(batcher.batches).toBeLessThan(12);
  expect(batcher.waiting).toBe(0);
});

test("one that cannot be read fails alone, and nothing is left behind", async () => {
  const { model, pictures } = await setUp();
  const batcher = new PictureBatcher(model);
  const before = liveTensors();
  const outcomes = await Promise.allSettled(
    [...pictures, Buffer.from("no picture")].map((each) => batcher.predict(each)),
  );
  expect(outcomes.map(({ status }) => status)).toEqual([...pictures.map(() => "fulfilled"), "rejected"]);
  expect((outcomes.at(-1) as PromiseRejectedResult).reason).toBeInstanceOf(DataError);
  expect(liveTensors()).toBe(before);
});
