import { expect, test } from "vitest";
import { temporaryFolder, writeFile } from "../../tests/support/picture-folder.js";
import type { Dataset } from "./dataset.js";
import { domainNet } from "./datasets/domain-net.js";
import { datasets } from "./datasets/index.js";
import { pacs } from "./datasets/pacs.js";
import { terraIncognita } from "./datasets/terra-incognita.js";
import { compareWithPublished, verificationText, verifyDataset } from "./verify.js";

/** A dataset with these counts, by domain and class. */
function withCounts(domains: Readonly<Record<string, readonly number[]>>, classes: readonly string[]): Dataset {
  return {
    ...{ id: "x", title: "X", kind: "pictures", root: "/x", hasDomains: true, inputShape: [3, 224, 224] },
    ...{ augmentable: true, options: {}, notes: [] },
    classes,
    domains: Object.entries(domains).map(([name, counts]) => {
      const labels = Int32Array.from(counts.flatMap((count, label) => new Array<number>(count).fill(label)));
      return { name, count: labels.length, labels, files: Array.from(labels, (_, i) => `${name}/${i}.png`) };
    }),
  } as Dataset;
}

const pacsClasses = pacs.published.classes as readonly string[];
const pacsCounts = Object.fromEntries(pacs.published.domains.map(({ name, perClass = [] }) => [name, perClass]));

test("published counts are consistent: classes make domains, domains make the total", () => {
  for (const { id, published } of Object.values(datasets)) {
    if (!published) continue;
    for (const { name, count, perClass } of published.domains)
      if (perClass)
        expect(
          perClass.reduce((sum, each) => sum + each),
          `${id} ${name}`,
        ).toBe(count);
    const counts = published.domains.map(({ count }) => count);
    if (counts.every((count) => count !== undefined))
      expect(
        counts.reduce((sum, each) => sum + each),
        id,
      ).toBe(published.total);
  }
});

test("a copy with the published counts agrees", () => {
  const verification = compareWithPublished(withCounts(pacsCounts, pacsClasses), pacs);
  expect(verification).toMatchObject({ agrees: true, differences: [], total: 9991 });
  expect(verificationText(verification)).toMatch(/agrees with what is published\n/);
});

test("each difference is named: a domain, a class, a number, a picture in the wrong class", () => {
  const { art_painting: art, cartoon, photo } = pacsCounts;
  const fewer = photo.with(0, photo[0] - 1);
  const moved = art.with(5, art[5] - 1).with(6, art[6] + 1);
  const { agrees, differences } = compareWithPublished(
    withCounts({ art_painting: moved, cartoon, photo: fewer }, pacsClasses),
    pacs,
  );
  expect(agrees).toBe(false);
  expect(differences).toEqual([
    "domain art_painting: house has 294 instead of 295; person has 450 instead of 449",
    "domain photo: 1,669 pictures, published 1,670 (1 fewer); dog has 188 instead of 189",
    "domain sketch is missing",
    "6,061 pictures in all, published 9,991 (3,930 fewer)",
  ]);
  const renamed = compareWithPublished(withCounts(pacsCounts, pacsClasses.with(0, "hound")), pacs);
  expect(renamed.differences.slice(0, 2)).toEqual(['missing class "dog"', 'unknown class "hound"']);
});

test("TerraIncognita's other set in circulation is a note, and other counts are a difference", () => {
  const names = terraIncognita.published.domains.map(({ name }) => name);
  const classes = terraIncognita.published.classes as readonly string[];
  const made = (counts: readonly number[]) =>
    compareWithPublished(
      withCounts(
        Object.fromEntries(names.map((name, i) => [name, [counts[i] - 9, 1, 1, 1, 1, 1, 1, 1, 1, 1]])),
        classes,
      ),
      terraIncognita,
    );
  const later = made([4741, 9736, 3970, 5883]);
  expect(later).toMatchObject({ agrees: true, total: 24330 });
  expect(later.notes).toEqual([
    "24,330 pictures are the set that later annotation files give; the papers have 24,788, so say which was used",
  ]);
  expect(made([4741, 9736, 3970, 6341])).toMatchObject({ agrees: true, total: 24788 });
  expect(made([4741, 9736, 3970, 5882])).toMatchObject({ agrees: false });
});

test("DomainNet with its duplicates says how to leave them out", () => {
  const counts = domainNet.published.domains.map(({ name, count = 0 }, i) => [name, [count + (i === 4 ? 9431 : 0)]]);
  const classes = Array.from({ length: 345 }, (_, i) => `class ${i}`);
  const { differences } = compareWithPublished(withCounts(Object.fromEntries(counts), classes), domainNet);
  expect(differences).toEqual([
    "domain real: 182,378 pictures, published 172,947 (9,431 more)",
    "596,006 pictures in all, published 586,575 (9,431 more: as many as the list of duplicates has; give it with --duplicates FILE)",
  ]);
});

test("a copy on disk is verified as far as it is there", async () => {
  const root = temporaryFolder();
  for (const domain of ["photo", "Sketch"])
    for (const name of pacsClasses) writeFile(root, `PACS/${domain}/${name}/1.jpg`);
  const { agrees, domains, differences, licence, source } = await verifyDataset(pacs, root);
  expect(agrees).toBe(false);
  expect(domains).toEqual([
    { domain: "art_painting", count: null, published: 2048 },
    { domain: "cartoon", count: null, published: 2344 },
    { domain: "photo", count: 7, published: 1670 },
    { domain: "sketch", count: 7, published: 3929 },
  ]);
  expect(differences[0]).toBe("domain art_painting is missing");
  expect(licence).toMatch(/none is stated/);
  expect(source).toMatch(/project page/);
});

test("a missing copy and a dataset without published counts are errors that say what to do", async () => {
  await expect(verifyDataset(pacs, temporaryFolder())).rejects.toThrow(
    /found no such folders\nwhere it can be had: .*\nlicence: /,
  );
  await expect(verifyDataset(datasets.shapes, temporaryFolder())).rejects.toThrow(
    /nothing is published to verify it against/,
  );
});
