import { join } from "node:path";
import sharp from "sharp";
import { expect, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { predictText } from "../cli/bench-predict.js";
import { benchPredict } from "./predict.js";

test("bench predict measures predictions from files and the network alone, next to onnxruntime", async () => {
  const folder = temporaryFolder();
  const model = join(folder, "model.safetensors");
  writeMadeModel(model, { backbone: "mobilenet_v2", inputShape: [3, 32, 32] });
  for (let i = 0; i < 4; i++) {
    const pixels = Buffer.from(Array.from({ length: 40 * 30 * 3 }, (_, j) => (j * (i + 3)) % 256));
    await sharp(pixels, { raw: { width: 40, height: 30, channels: 3 } }).toFile(join(folder, `${i}.jpg`));
  }
  const result = await benchPredict({ model, pictures: [folder], limit: 3, repeats: 1 });
  expect(result).toMatchObject({ backbone: "mobilenet_v2", pictures: 3, repeats: 1 });
  for (const { ours, onnxruntime } of [result.fromFiles, result.network])
    for (const times of [ours, onnxruntime!]) {
      expect(times.ms).toBeGreaterThan(0);
      expect(times.cpuMs).toBeGreaterThan(0);
    }
  expect(result.difference).toBeLessThan(1e-4);
  const text = predictText(result);
  expect(text).toContain("Predicting 3 pictures with mobilenet_v2 on the CPU");
  expect(text).toMatch(/from files +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d +\d+\.\d\d×\n/);
  expect(
    predictText({ ...result, fromFiles: { ours: result.fromFiles.ours }, network: { ours: result.network.ours } }),
  ).not.toContain("exported");
  await expect(benchPredict({ model, pictures: [join(folder, "*.png")], limit: 1, repeats: 1 })).rejects.toThrow();
});
