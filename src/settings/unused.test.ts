import { expect, test } from "vitest";
import type { Request } from "../declared-settings/keys.js";
import { resolve } from "./resolve.js";

const settingsOf = async (request: Request) =>
  (await resolve({ data: "shapes", testDomains: "filled", ...request })).settings;

test.each(["DANN", "CDANN"])("%s refuses lr and weightDecay, which it does not use", async (algorithm) => {
  const id = algorithm.toLowerCase();
  await expect(settingsOf({ algorithm, lr: "1e-3" })).rejects.toThrow(
    `lr: ${algorithm} does not use lr; it has lrG and lrD instead: set those, such as lrG=1e-3`,
  );
  await expect(settingsOf({ algorithm, [`${id}.lr`]: 1 })).rejects.toThrow(`${id}.lr: ${algorithm} does not use lr`);
  await expect(settingsOf({ algorithm, lr: "10^U(-4, -2)", hparamsSeed: 1 })).rejects.toThrow("does not use lr");
  await expect(settingsOf({ algorithm, weightDecay: 0.1 })).rejects.toThrow("weightDecayG and weightDecayD");
  expect((await settingsOf({ algorithm, lrG: 0.01 })).fixed).toEqual({ [`${id}.lrG`]: 0.01 });
});

test("drawn values and those of a stored run are no error", async () => {
  const drawn = await settingsOf({ algorithm: "DANN", hparamsSeed: 3 });
  expect(drawn.hparams.lr).toBeGreaterThan(0);
  expect((await settingsOf(drawn.request)).hash).toBe(drawn.hash);
  await expect(settingsOf({ algorithm: "ADRMX", weightDecay: 0.1 })).rejects.toThrow(
    "ADRMX does not use weightDecay: remove weightDecay",
  );
  await expect(settingsOf({ algorithm: "ADRMX", nonlinearClassifier: true })).rejects.toThrow("ADRMX does not use");
});
