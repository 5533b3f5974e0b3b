import { expect, test } from "vitest";
import { judgedAs } from "../analysis/judged.fixture.js";
import type { PictureDataset } from "../data/dataset.js";
import { splitDataset, splitHash } from "../data/split.js";
import { trainedOn, trainedOnWords } from "./trained-on.js";

const filesOf = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${name}/c/${i}.png`);

/** A folder with the given number of pictures in each domain. */
const folder = (counts: Record<string, number>, more: object = {}): PictureDataset =>
  ({
    hasDomains: true,
    domains: Object.entries(counts).map(([name, count]) => ({ name, count, files: filesOf(name, count) })),
    ...more,
  }) as unknown as PictureDataset;

const training = folder({ phone: 10, scanner: 10, webcam: 5 });
const options = { trialSeed: 3, testDomains: ["webcam"], holdout: 0.2 };
const split = splitDataset(training.domains, options);
const about = {
  domains: ["phone", "scanner"],
  testDomains: ["webcam"],
  settings: { trialSeed: 3, holdout: 0.2, splitHash: splitHash(split) },
};

/** Predictions for every picture of a folder. Those at the given indices are wrong. */
const judged = ({ domains }: PictureDataset, wrong: readonly string[] = []) =>
  domains.flatMap(({ name: domain, files }) =>
    files.map((name) => judgedAs(0, wrong.includes(name) ? 1 : 0, 0.9, { domain, name })),
  );

test("the training folder is known again: what was learnt is counted, and the rest is measured by itself", async () => {
  const [heldBack] = split.get("phone")!.out;
  const found = await trainedOn(about, training, judged(training, [`phone/c/${heldBack}.png`]));
  expect(found).toMatchObject({ count: 16, others: { count: 9, right: 8 } }); // 2 + 2 validation pictures, 5 of the held-out domain
  expect(trainedOnWords(found!)).toMatch(
    /^the model was trained on 16 of these 25 pictures, so the results are too optimistic; accuracy on the other 9: 88\.9 % \(/,
  );
});

test("pictures of the domain that was held out were not trained on", async () => {
  const held = judged(training).filter(({ domain }) => domain === "webcam");
  expect(await trainedOn(about, training, held)).toBeNull();
});

test("of another folder only names can hint at the same pictures", async () => {
  const grown = folder({ phone: 11, scanner: 10, webcam: 5 });
  const found = await trainedOn(about, grown, judged(grown));
  expect(found).toEqual({ domains: ["phone", "scanner"] });
  expect(trainedOnWords(found!)).toContain(
    'domains with the same name ("phone", "scanner"); if these are the same pictures',
  );
  const fourth = folder({ drone: 4 });
  expect(await trainedOn(about, fourth, judged(fourth))).toBeNull();
  const bare = folder({ all: 4 }, { hasDomains: false }); // the only domain of a folder of classes has this name
  expect(await trainedOn({ ...about, domains: ["all"] }, bare, judged(bare))).toBeNull();
});

test("a manifest's split is recognised, and invalid settings are not an error", async () => {
  const listed = folder(
    { all: 2 },
    { hasDomains: false, givenSplit: new Map([["all", { in: [0], out: [1], uda: [] }]]) },
  );
  const settings = { trialSeed: 0, holdout: 0.2, splitHash: splitHash(listed.givenSplit!) };
  const found = await trainedOn({ domains: ["all"], testDomains: [], settings }, listed, judged(listed));
  expect(found).toMatchObject({ count: 1, others: { count: 1 } });
  const hostile = { ...about, settings: { trialSeed: "x", holdout: 7, splitHash: null } };
  expect(await trainedOn(hostile, training, judged(training))).toEqual({ domains: ["phone", "scanner"] });
});
