import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { comparedText } from "../cli/train-against.js";
import type { PictureDataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { makeFolder } from "../files/make-folder.js";
import { loadModel } from "../model/index.js";
import { HELD_BACK_FILE, type HeldBack } from "../training/held-back.js";
import { compareWithEarlier } from "./before-and-after.js";

const home = mkdtempSync(join(tmpdir(), "nudge-before-"));
const [pictures, before, after] = ["pictures", "before", "after"].map((name) => join(home, name));
let dataset: PictureDataset;

const keep = (run: string, held: Omit<HeldBack, "format">): void =>
  writeFileSync(join(run, HELD_BACK_FILE), JSON.stringify({ format: 1, ...held }));

beforeAll(async () => {
  makePictureFolder(pictures, { perCell: 3, domains: ["shop", "street"] });
  dataset = (await openDataset(pictures)) as PictureDataset;
  for (const run of [before, after]) {
    makeFolder(run);
    writeMadeModel(join(run, "model.safetensors"), { classes: dataset.classes });
  }
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("each picture counts once: as the earlier model said when it held it back, or says now; those it was trained on do not", async () => {
  const [held, trained, unseen, other] = dataset.domains.flatMap(({ files }) => files);
  const [label, wrong] = dataset.classes;
  const picture = (name: string, predicted: string) => ({ name, domain: "shop", label, predicted });
  keep(after, { pictures: [held, trained, unseen, other].map((name) => picture(name, label)), trained: [] });
  keep(before, { pictures: [picture(held, wrong)], trained: [trained] });
  using model = await loadModel(before);
  const said = await model.predict([unseen, other].map((name) => join(pictures, name)));
  const found = await compareWithEarlier(after, before, dataset);
  const right = said.filter((each) => each.label === label).length;
  expect(found).toMatchObject({ skipped: 1, unknown: false });
  expect(found.overall).toMatchObject({ count: 3, onlyFirst: 0, onlySecond: 3 - right });
  expect(found.domains.map(({ domain, count }) => [domain, count])).toEqual([["shop", 3]]);
});

test("classes that the earlier model does not have are reported with the number of their pictures", async () => {
  const [one, other] = dataset.domains[0].files;
  const [label] = dataset.classes;
  const added = { name: other, domain: "shop", label: "added", predicted: "added" };
  keep(after, { pictures: [{ name: one, domain: "shop", label, predicted: label }, added], trained: [] });
  keep(before, { pictures: [], trained: [] });
  writeMadeModel(join(after, "model.safetensors"), { classes: [label, "added"] });
  const found = await compareWithEarlier(after, before, dataset);
  expect(found.formerClasses).toEqual([dataset.classes[1]]);
  expect(found).toMatchObject({ newClasses: ["added"], ofNewClasses: 1, overall: { count: 2 } });
  expect(await comparedText(found)).toContain(
    'note: the earlier model does not have the class "added", so 1 picture counts as wrong for it\n',
  );
});

test("if it is unknown what the earlier model was trained on, all pictures count, with a note", async () => {
  const [name] = dataset.domains[0].files;
  const [label] = dataset.classes;
  keep(after, { pictures: [{ name, domain: "shop", label, predicted: label }], trained: [] });
  rmSync(join(before, HELD_BACK_FILE));
  expect(await compareWithEarlier(after, before, dataset)).toMatchObject({ skipped: 0, unknown: true });
  rmSync(join(after, HELD_BACK_FILE));
  await expect(compareWithEarlier(after, before, dataset)).rejects.toThrow("nothing to compare on");
});
