import { expect, test } from "vitest";
import type { Request } from "../declared-settings/keys.js";
import { resolve } from "./resolve.js";

const settingsOf = async (request: Request) => {
  const run = { data: "shapes", testDomains: "filled", pretrained: false, backbone: "efficientnet_b0" };
  return (await resolve({ ...run, ...request })).settings;
};

test("what is frozen and how rates fall are settings, and their defaults leave a run's name as it was", async () => {
  const plain = await settingsOf({});
  const spelled = await settingsOf({ freeze: "none", layerDecay: "1", stochasticDepth: "0" });
  expect(spelled.hash).toBe(plain.hash);
  const more = { freeze: "all-but-3", layerDecay: "0.75", stochasticDepth: "0.2" };
  const settings = await settingsOf(more);
  expect(settings).toMatchObject({ freeze: "all-but-3", layerDecay: 0.75, stochasticDepth: 0.2 });
  expect(settings.fixed).toMatchObject({ freeze: "all-but-3", layerDecay: 0.75, stochasticDepth: 0.2 });
  expect(settings.hash).not.toBe(plain.hash);
  expect((await resolve(settings.request)).settings.hash).toBe(settings.hash);
});

test("a search may draw them", async () => {
  const range = { freeze: "{stem, all-but-2}", layerDecay: "U(0.6, 0.9)", hparamsSeed: "3" };
  const { freeze, layerDecay } = await settingsOf(range);
  expect(["stem", "all-but-2"]).toContain(freeze);
  expect(layerDecay).toBeGreaterThan(0.6);
  expect(layerDecay).toBeLessThan(0.9);
});

test.each([
  [{ freeze: "blocks" }, "freeze: expected none, stem, all, or all-but-N with the number of last blocks"],
  [{ freeze: "all-but-0" }, "such as all-but-3; got all-but-0"],
  [{ freeze: "all-but-17" }, "freeze=all-but-17: efficientnet_b0 has 16 blocks; take a number from 1 to 16"],
  [{ layerDecay: "1.5" }, "layerDecay: expected a number"],
  [{ stochasticDepth: "1" }, "stochasticDepth: expected a number"],
  [{ backbone: "small-cnn", freeze: "stem" }, "freeze=stem: the backbone small-cnn does not say which its blocks are"],
  [{ backbone: "small-cnn", layerDecay: "0.9" }, "layerDecay=0.9: the backbone small-cnn does not say"],
  [{ backbone: "resnet18", stochasticDepth: "0.1" }, "stochasticDepth=0.1: resnet18 has no stochastic depth"],
])("%o is refused", async (request, message) => {
  await expect(settingsOf(request)).rejects.toThrow(message);
});
