import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { imbalanceNotes } from "./class-notes.js";
import type { PictureDataset } from "./dataset.js";
import { openDataset } from "./open-dataset.js";
import { splitByClass, splitOf } from "./own-split.js";
import { splitDataset } from "./split.js";

const root = mkdtempSync(join(tmpdir(), "nudge-own-split-"));
beforeAll(() => makePictureFolder(root, { perCell: 10, domains: ["shop", "street"] }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const open = async (): Promise<PictureDataset> => (await openDataset(root)) as PictureDataset;
const options = { trialSeed: 0, testDomains: [], holdout: 0.2 };

test("every class of a domain is held back by the same share, and nothing is in both parts", async () => {
  const dataset = await open();
  const split = splitOf(dataset, options);
  for (const { name, labels, count } of dataset.domains) {
    const { in: inside, out } = split.get(name)!;
    expect([...inside, ...out].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
    const held = dataset.classes.map((_, k) => out.filter((place) => labels[place] === k).length);
    expect(new Set(held)).toEqual(new Set([2]));
  }
  expect(splitOf(dataset, options)).toEqual(split);
  expect(splitOf(dataset, { ...options, trialSeed: 1 })).not.toEqual(split);
});

test("a picture that appears twice is never held back, in whichever domain", async () => {
  const before = await open();
  const { files } = before.domains[0];
  const [first] = splitByClass(before, options).get("shop")!.out;
  const copied = files[first];
  cpSync(join(root, copied), join(root, copied.replace("shop", "street").replace(/(\.\w+)$/, "-copy$1")));
  const dataset = await open();
  const split = splitByClass(dataset, options);
  for (const { name, files: own } of dataset.domains) {
    const held = split.get(name)!.out.map((place) => own[place]);
    expect(held.some((file) => file === copied || file.includes("-copy"))).toBe(false);
  }
});

test("pictures and domains that are added leave the others nearly where they were", async () => {
  const before = await open();
  const heldIn = (dataset: PictureDataset): Set<string> => {
    const split = splitByClass(dataset, options);
    return new Set(dataset.domains.flatMap(({ name, files }) => split.get(name)!.out.map((place) => files[place])));
  };
  const held = heldIn(before);
  const street = before.domains.slice(1); // the other one stands first, and is added
  expect([...heldIn({ ...before, domains: street })]).toEqual([...held].filter((file) => file.startsWith("street")));
  const fewer = before.domains.map((domain) => ({
    ...domain,
    ...{ files: domain.files.slice(0, -5), labels: domain.labels.slice(0, -5), count: domain.count - 5 },
  }));
  const smaller = heldIn({ ...before, domains: fewer });
  expect([...smaller].filter((file) => held.has(file)).length).toBeGreaterThan(0.7 * smaller.size);
});

test("benchmarks keep the reference's split", async () => {
  const dataset = await open();
  const published = { ...dataset, id: "pacs" };
  expect(splitOf(published, options)).toEqual(splitDataset(dataset.domains, options));
});

test("classes that are far apart in number are reported, with what to do", () => {
  const domains = [
    { name: "a", count: 139, labels: Int32Array.from({ length: 139 }, (_, i) => (i < 130 ? 0 : 1)), files: [] },
  ];
  const [note] = imbalanceNotes({ classes: ["bike", "mug"], domains });
  expect(note).toContain('130 pictures of "bike", 9 of "mug"');
  expect(note).toContain("classBalanced=true");
  expect(
    imbalanceNotes({
      classes: ["bike", "mug"],
      domains: [{ ...domains[0], labels: domains[0].labels.map((_, i) => i % 2) }],
    }),
  ).toEqual([]);
});
