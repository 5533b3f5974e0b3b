import { expect, test } from "vitest";
import type { Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import { parseRange } from "../hparams.js";
import { resolve } from "./resolve.js";
import { checkSearched, SEARCH_RUNS } from "./search.js";

const settled = async (request: Request) =>
  (await resolve({ data: "shapes", testDomains: "inverted", threads: 1, "data.perCell": 4, ...request })).settings;

test("what is as usual is no part of the settings, and the run keeps its name", async () => {
  const [plain, named] = [
    await settled({}),
    await settled({ optimizer: "adam", schedule: "constant", headLr: 1, warmupSteps: 0 }),
  ];
  expect(named.hash).toBe(plain.hash);
  for (const key of ["optimizer", "schedule", "warmupSteps", "clipNorm", "headLr", "patience"])
    expect(plain).not.toHaveProperty(key);
});

test("an optimizer and a schedule have their options, are fixed by hand, and make the same run again", async () => {
  const settings = await settled({
    ...{ optimizer: "sgd", momentum: "0.8", schedule: "step", "step.decay": 0.5, warmupSteps: 5, clipNorm: "1" },
    ...{ headLr: 10, patience: 3 },
  });
  expect(settings).toMatchObject({
    optimizer: { id: "sgd", settings: { momentum: 0.8, nesterov: false } },
    schedule: { id: "step", settings: { decay: 0.5 } },
    ...{ warmupSteps: 5, clipNorm: 1, headLr: 10, patience: 3 },
  });
  expect(settings.fixed).toEqual({
    "data.perCell": 4,
    ...{ optimizer: "sgd", "sgd.momentum": 0.8, schedule: "step", "step.decay": 0.5 },
    ...{ warmupSteps: 5, clipNorm: 1, headLr: 10, patience: 3 },
  });
  const again = await settled(settings.request);
  expect([again.hash, again.fixed]).toEqual([settings.hash, settings.fixed]);
});

test("ranges are read as they are printed", () => {
  const middle = {
    uniform: (from: number, to: number) => (from + to) / 2,
    choice: <T>(items: readonly T[]) => items[1],
  };
  const draws = [
    "{adam, sgd}",
    "{1, 2e-3}",
    "U(0, 1)",
    "10^U(-5, -3)",
    "int(2^U(3, 4))",
    "int(U(0, 5))",
    "{true,false}",
  ];
  const values = draws.map((text) => parseRange(text)?.draw(middle));
  expect(values).toEqual(["sgd", 2e-3, 0.5, expect.closeTo(1e-4, 12), 11, 2, false]);
  for (const text of ["adam", "U(1)", "int(U(0, 5)", "10^U(a, b)", "{}"]) expect(parseRange(text)).toBeNull();
});

test("a searched setting has another value in each draw, one row, and the same run from its request", async () => {
  const request = { optimizer: "{adam, sgd}", "sgd.momentum": 0.5, lr: "10^U(-4, -2)", schedule: "{constant, cosine}" };
  const draws = await Promise.all(Array.from({ length: 12 }, (_, hparamsSeed) => settled({ ...request, hparamsSeed })));
  expect(new Set(draws.map(({ optimizer }) => optimizer?.id))).toEqual(new Set([undefined, "sgd"]));
  expect(new Set(draws.map(({ schedule }) => schedule?.id))).toEqual(new Set([undefined, "cosine"]));
  expect(draws[0]).not.toHaveProperty("optimizer"); // the first of the list
  expect(draws[0].hparams.lr).toBeCloseTo(1e-3, 12);
  expect(new Set(draws.map(({ hparams }) => hparams.lr)).size).toBe(12);
  for (const { fixed } of draws)
    expect(fixed).toEqual({
      ...{ "data.perCell": 4, optimizer: "{adam,sgd}", lr: "10^U(-4,-2)", schedule: "{constant,cosine}" },
    });
  for (const draw of draws) {
    const again = await settled(draw.request);
    expect([again.hash, again.fixed]).toEqual([draw.hash, draw.fixed]);
  }
});

test("a range outside a search is refused with how to search, and stored requests keep theirs", async () => {
  const single = (request: Request) => () => checkSearched(request, SEARCH_RUNS);
  expect(single({ lr: "10^U(-4, -2)" })).toThrow(
    "lr=10^U(-4, -2): a range is for a search, and this is none. Give a value, or search with nudge sweep run --hparams 20",
  );
  expect(single({ optimizer: "{adam, sgd}", hparamsSeed: "0" })).toThrow("a range is for a search");
  for (const request of [{ lr: "1e-3" }, { lr: "10^U(-4, -2)", hparamsSeed: "3" }, { lr: "U(0, 1)", fixed: ["lr"] }])
    expect(single(request)).not.toThrow();
});

test.each([
  [
    { lr: "10^U(-4 -2)" },
    'or a range written as U(0, 1), 10^U(-4, -2), int(2^U(3, 5)) or {adam, sgd}; got "10^U(-4 -2)"',
  ],
  [{ optimizer: "{adam" }, 'or {adam, sgd}; got "{adam"'],
  [{ schedule: "cosine", warmupSteps: 300, steps: 300 }, "warmupSteps 300: the run has 300 steps"],
  [{ schedule: "step", "step.period": 400, steps: 300 }, "the learning rate would never change"],
  [{ optimizer: "adamx" }, 'unknown optimizer "adamx": did you mean "adam"?'],
  [{ schedule: "cosin" }, 'unknown schedule "cosin": did you mean "cosine"?'],
  [
    { momentum: 0.9 },
    "momentum is a setting of the optimizers sgd and lars; this run uses the optimizer adam. To use that of sgd, add optimizer=sgd",
  ],
  [{ "sgd.momentum": 0.9 }, "sgd.momentum is a setting of the optimizer sgd; this run uses the optimizer adam"],
  [{ "sgd.momentun": 0.9 }, 'unknown setting of SGD "momentun": did you mean "momentum"?'],
  [{ "step.period": 3 }, "this run uses the schedule constant. To use it, add schedule=step"],
  [{ penaltyWeight: 1 }, /^penaltyWeight is a setting of IRM, VREx.* and .*; this run trains ERM\. /],
  [
    { algorithm: "IRM", "nuclear-norm.weight": 1 },
    "nuclear-norm.weight is a setting of the penalty nuclear-norm; this run trains IRM. To use it, add regularizers=nuclear-norm",
  ],
  [{ optimizer: "sgd", momentum: 1.5 }, "sgd.momentum: expected a number from 0 to below 1, got 1.5"],
  [{ clipNorm: 0 }, "clipNorm: expected a number above 0"],
])("%j is refused", async (request, message) => {
  await expect(settled(request)).rejects.toThrow(UsageError);
  await expect(settled(request)).rejects.toThrow(message);
});
