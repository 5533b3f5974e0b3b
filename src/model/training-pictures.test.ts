import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeScenes, writeAltered } from "../../tests/support/scenes.js";
import { judgedAs } from "../analysis/judged.fixture.js";
import type { PictureDataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { splitOf } from "../data/own-split.js";
import { membersTrainedOn, trainedOn, trainedOnWords } from "./trained-on.js";
import {
  readTrainingPictures,
  seenPictures,
  TRAINING_PICTURES_FILE,
  type TrainingPictures,
  trainingPicturesOf,
} from "./training-pictures.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-training-pictures-"));
const [source, fresh] = [join(folder, "source"), join(folder, "fresh")];
const split = { trialSeed: 0, testDomains: ["street"], holdout: 0.25 };
let training: TrainingPictures;
/** A picture that was trained on, one of validation, and one of the domain that was held out, without their endings. */
let [learnt, validation, heldOut] = ["", "", ""];

const judgedIn = ({ domains }: PictureDataset, wrong = "") =>
  domains.flatMap(({ name: domain, files, labels }) =>
    files.map((name, i) =>
      judgedAs(labels[i], name.includes(wrong || "none") ? 1 - labels[i] : labels[i], 0.9, { domain, name }),
    ),
  );

beforeAll(async () => {
  await makeScenes(source, { perCell: 8, domains: ["shop", "street"], classes: ["mug", "pen"] });
  const dataset = (await openDataset(source)) as PictureDataset;
  const parts = splitOf(dataset, split);
  training = await trainingPicturesOf(dataset, parts, split);
  const [shop, street] = dataset.domains;
  const first = (of: typeof shop, places: readonly number[]): string =>
    of.files[places.find((i) => of.labels[i] === 0)!];
  [learnt, validation, heldOut] = [
    first(shop, parts.get("shop")!.in),
    first(shop, parts.get("shop")!.out),
    first(street, parts.get("street")!.in),
  ];
  // Another folder with other names: copies, altered copies, and pictures that are not in the first folder.
  await makeScenes(fresh, { perCell: 3, domains: ["new"], classes: ["mug", "pen"], from: 500 });
  for (const [name, file] of Object.entries({ learnt, validation, heldOut })) {
    copyFileSync(join(source, file), join(fresh, `new/mug/${name}.png`));
    await writeAltered(join(fresh, `new/mug/${name}.png`));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("copies and near-duplicates of training pictures are found in another folder, and no others", async () => {
  const dataset = (await openDataset(fresh)) as PictureDataset;
  const seen = await seenPictures(training, dataset, judgedIn(dataset));
  expect([...seen.copies]).toEqual(["new/mug/learnt.png"]);
  expect([...seen.nearDuplicates].toSorted()).toEqual([
    "new/mug/learnt-compressed.jpg",
    "new/mug/learnt-cropped.jpg",
    "new/mug/learnt-smaller.jpg",
  ]);
});

test("the accuracy without them is reported", async () => {
  const dataset = (await openDataset(fresh)) as PictureDataset;
  const about = { domains: ["shop"], testDomains: ["street"], settings: {} };
  const found = await trainedOn(about, dataset, judgedIn(dataset, "validation.png"), { training });
  expect(found).toMatchObject({ count: 1, nearDuplicates: 3, others: { count: 14, right: 13 } });
  expect(trainedOnWords(found!)).toMatch(
    /^the model was trained on 1 of these 18 pictures, and 3 others are near-duplicates of its training pictures, so the results are too optimistic; accuracy on the other 14: 92\.9 % \(/,
  );
  const unseen = judgedIn(dataset).filter(({ name }) => !name.includes("learnt"));
  expect(await trainedOn(about, dataset, unseen, { training })).toBeNull();
  // Known pictures are better evidence than the names of domains.
  expect(await trainedOn({ ...about, domains: ["new"] }, dataset, unseen, { training })).toBeNull();
  expect(await trainedOn({ ...about, domains: ["new"] }, dataset, unseen)).toEqual({ domains: ["new"] });
  // Of an ensemble, both kinds of evidence are reported.
  const members = [{ about: { ...about, domains: ["new"] } }, { about, training }];
  const mixed = await membersTrainedOn(members, dataset, judgedIn(dataset, "validation.png"));
  expect(mixed).toEqual({ ...found, domains: ["new"] });
  expect(trainedOnWords(mixed!)).toContain(
    "; another member of the ensemble: it was trained on a domain with the same",
  );
});

test("a probe that was fitted again was trained on its validation pictures too", async () => {
  const dataset = (await openDataset(source)) as PictureDataset;
  const parts = splitOf(dataset, split);
  const all = await trainingPicturesOf(dataset, parts, { ...split, refit: true });
  expect([training.labels.length, all.labels.length]).toEqual([12, 16]);
  const seen = await seenPictures(all, dataset, judgedIn(dataset));
  expect([...seen.copies].every((name) => name.startsWith("shop/"))).toBe(true);
  expect(seen.copies.size).toBe(16);
});

test("the file is read from the run folder of a model, and checked", () => {
  const run = join(folder, "run");
  mkdirSync(run);
  const model = join(run, "model.safetensors");
  writeFileSync(model, "");
  expect(readTrainingPictures(model)).toBeUndefined();
  const path = join(run, TRAINING_PICTURES_FILE);
  writeFileSync(path, JSON.stringify(training));
  expect(readTrainingPictures(model)).toEqual(training);
  expect(readTrainingPictures(run)).toEqual(training);
  writeFileSync(path, JSON.stringify({ ...training, hashes: training.hashes.slice(4) }));
  expect(() => readTrainingPictures(run)).toThrow(/expected a hash and a signature for each of 12 pictures/);
  writeFileSync(path, JSON.stringify({ ...training, labels: [-1] }));
  expect(() => readTrainingPictures(run)).toThrow(/expected "labels\.0" to be a whole number of at least 0, got -1/);
});
