import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeFile, writePictures } from "../../tests/support/picture-folder.js";
import { DataError, UsageError } from "../errors.js";
import { office31 } from "./datasets/office-31.js";
import { sviro } from "./datasets/sviro.js";
import { openDataset } from "./open-dataset.js";
import { verifyDataset } from "./verify.js";

const things = ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"];

/** Empty files will do where only names matter. */
function touch(root: string, folder: string, domains: readonly string[], classes: readonly string[] = things): void {
  for (const domain of domains)
    for (const name of classes)
      for (const picture of ["b.jpg", "a.jpg"]) writeFile(root, `${folder}/${domain}/${name}/${picture}`);
}

const pacsDomains = ["art_painting", "cartoon", "photo", "sketch"];

test.each([".", "PACS", "Homework3-PACS/PACS", "downloads/x/kfold"])(
  "PACS is found by its content in %s",
  async (folder) => {
    const root = temporaryFolder();
    touch(root, folder, pacsDomains);
    for (const opened of [await openDataset("pacs", { root }), await openDataset(root)]) {
      expect(opened.id).toBe("pacs");
      expect(opened.root).toBe(join(root, folder));
      expect(opened.domains.map(({ name }) => name)).toEqual(pacsDomains);
      expect(opened.classes).toEqual(things);
      expect(opened.domains[2].files?.slice(0, 3)).toEqual([
        "photo/dog/a.jpg",
        "photo/dog/b.jpg",
        "photo/elephant/a.jpg",
      ]);
      expect(Array.from(opened.domains[2].labels.slice(0, 4))).toEqual([0, 0, 1, 1]);
      expect(opened.notes).toEqual([]);
    }
  },
);

test("other spellings of names are the same domains and classes, in the published order", async () => {
  const root = temporaryFolder();
  touch(
    root,
    "pacs data",
    ["Sketch", "Art Painting", "CARTOON", "photo"],
    things.map((name) => name.toUpperCase()),
  );
  const opened = await openDataset("PACS", { root });
  expect(opened.domains.map(({ name }) => name)).toEqual(pacsDomains);
  expect(opened.classes).toEqual(things);
  expect(opened.domains[0].files?.[0]).toBe("Art Painting/DOG/a.jpg");
});

test("OfficeHome is recognised by its 65 classes, and its real-world domain by any spelling", async () => {
  const root = temporaryFolder();
  const classes = Array.from({ length: 65 }, (_, i) => `Thing_${i}`);
  touch(root, "OfficeHomeDataset_10072016", ["Art", "Clipart", "Product", "RealWorld"], classes);
  const opened = await openDataset(root);
  expect(opened.id).toBe("office-home");
  expect(opened.domains[3]).toMatchObject({ name: "Real World", count: 130 });
});

test("domains of a benchmark's names with other classes are a folder of one's own", async () => {
  const root = temporaryFolder();
  touch(root, ".", pacsDomains, ["cat", "dog"]);
  expect(await openDataset(root)).toMatchObject({ id: "image-folder", hasDomains: true, classes: ["cat", "dog"] });
});

test("a missing domain is reported, with the folders that exist", async () => {
  const root = temporaryFolder();
  touch(root, "PACS", ["art_painting", "cartoon", "photo", "skizze"]);
  await expect(openDataset("pacs", { root })).rejects.toThrow(
    `dataset pacs: expected domains art_painting, cartoon, photo, sketch in ${root}/PACS; "sketch" is missing; other folders there: "skizze"`,
  );
  const empty = temporaryFolder();
  await expect(openDataset("pacs", { root: empty })).rejects.toThrow(
    /up to three levels below; found no such folders$/,
  );
});

test("folders beside the domains are skipped and reported", async () => {
  const root = temporaryFolder();
  touch(root, "PACS", [...pacsDomains, "splits"]);
  const { notes } = await openDataset("pacs", { root });
  expect(notes).toEqual(['skipped: 1 folder that is not a domain of pacs ("splits")']);
});

test("a domain without pictures is an error", async () => {
  const root = temporaryFolder();
  touch(root, ".", ["art_painting", "cartoon", "photo"]);
  mkdirSync(join(root, "sketch/dog"), { recursive: true });
  await expect(openDataset("pacs", { root })).rejects.toThrow(/domain "sketch" has no pictures in class folders/);
});

test("a folder with two benchmarks asks for a name", async () => {
  const root = temporaryFolder();
  touch(root, "PACS", pacsDomains);
  touch(root, "VLCS", ["Caltech101", "LabelMe", "SUN09", "VOC2007"], ["bird", "car", "chair", "dog", "person"]);
  await expect(openDataset(root)).rejects.toThrow(/contains several datasets \(pacs, vlcs\): choose one/);
  expect((await openDataset("vlcs", { root })).id).toBe("vlcs");
});

test("DomainNet's duplicates are excluded by a list", async () => {
  const root = temporaryFolder();
  const domains = ["clipart", "infograph", "painting", "quickdraw", "real", "sketch"];
  touch(root, "domain_net", domains, ["axe", "zebra"]);
  const duplicates = writeFile(root, "list.txt", "clipart/axe/a.jpg\r\nreal/zebra/b.jpg\n\nreal/zebra/gone.jpg\n");
  const opened = await openDataset("domain-net", { root, options: { duplicates } });
  expect(opened.domains.map(({ count }) => count)).toEqual([3, 4, 4, 4, 3, 4]);
  expect(opened.domains[0].files).toEqual(["clipart/axe/b.jpg", "clipart/zebra/a.jpg", "clipart/zebra/b.jpg"]);
  expect(Array.from(opened.domains[0].labels)).toEqual([0, 1, 1]);
  expect(opened.notes).toEqual(["skipped: 2 pictures of the 3 in the list of duplicates"]);
});

test("a name or folder that is not a dataset is an error that says what to do", async () => {
  await expect(openDataset("packs")).rejects.toThrow(/unknown dataset "packs": did you mean "pacs"\?/);
  await expect(openDataset("./nowhere")).rejects.toThrow(UsageError);
  await expect(openDataset("pacs")).rejects.toThrow(
    /dataset pacs: expected the folder that contains it .* use --root$/,
  );
  const root = temporaryFolder();
  await expect(openDataset(writeFile(root, "notes.txt"))).rejects.toThrow(
    /expected a folder or a manifest \(\.csv, \.jsonl\)/,
  );
  await expect(openDataset(root, { root })).rejects.toThrow(/it is a path, so it cannot have a root/);
  await expect(openDataset("shapes", { options: { sise: 8 } })).rejects.toThrow(
    /unknown option of dataset shapes "sise": did you mean "size"\?/,
  );
  await expect(openDataset("shapes", { options: { size: "wide" } })).rejects.toThrow(
    'data.size: expected a number, got "wide"',
  );
});

test("a folder named like a dataset is the folder, unless it is the dataset's root that is given", async () => {
  const root = temporaryFolder();
  touch(root, "pacs", ["day", "night"], ["cat", "dog"]);
  expect((await openDataset(join(root, "pacs"))).id).toBe("image-folder");
  await expect(openDataset("pacs", { root: join(root, "pacs") })).rejects.toThrow(/dataset pacs: expected domains/);
  await expect(openDataset("./pacs")).rejects.toThrow(/there is no folder or file \.\/pacs$/);
});

test("MNIST's files ask which dataset to make of them", async () => {
  const root = temporaryFolder();
  writeFile(root, "MNIST/raw/train-images-idx3-ubyte.gz");
  await expect(openDataset(root)).rejects.toThrow(/choose rotated-mnist or colored-mnist/);
});

test("generated pictures are opened by name, and the same seed gives the same bytes", async () => {
  const options = { size: 16, perCell: 2, seed: 3 };
  const [one, two] = [await openDataset("shapes", { options }), await openDataset("shapes", { options })];
  expect(one).toMatchObject({ id: "shapes", kind: "arrays", root: null, inputShape: [3, 16, 16], augmentable: true });
  expect(one.domains.map(({ name, count }) => [name, count])).toEqual([
    ["filled", 14],
    ["outlined", 14],
    ["textured", 14],
    ["inverted", 14],
  ]);
  expect(one.domains[1].read?.(5)).toEqual(two.domains[1].read?.(5));
  expect(one.domains[1].read?.(5)).toHaveLength(3 * 16 * 16);
  expect(one.options).toEqual({ size: 16, perCell: 2, seed: 3, cue: 0.8 });
});

test("the paper's sources have features that agree with the label as often as they should", async () => {
  const { domains, inputShape } = await openDataset("toy-2d", { options: { samples: 4000 } });
  expect(inputShape).toEqual([2]);
  const agreement = domains.map(({ labels, read }) =>
    [0, 1].map((feature) => {
      const agrees = Array.from(labels.keys()).filter((i) => (read?.(i) ?? [])[feature] > 0 === (labels[i] === 1));
      return agrees.length / labels.length;
    }),
  );
  // Four standard errors of 4,000 draws: 0.03.
  expect(agreement[0][0]).toBe(1);
  expect(agreement[1][0]).toBe(1);
  expect(Math.abs(agreement[0][1] - 0.7)).toBeLessThan(0.03);
  expect(Math.abs(agreement[1][1] - 0.3)).toBeLessThan(0.03);
  const wide = await openDataset("toy-rd", { options: { samples: 10, invariant: 3, environmental: 4, gamma: 0.5 } });
  expect(wide.inputShape).toEqual([7]);
  const out = wide.domains[1]; // with γ = ½ every environmental feature disagrees out of domain
  const signs = Array.from(out.read?.(0) ?? [], Math.sign).map((sign) => sign * (out.labels[0] === 1 ? 1 : -1));
  expect(signs).toEqual([1, 1, 1, -1, -1, -1, -1]);
});

test("a folder of own pictures opens by its path", async () => {
  const root = temporaryFolder();
  await writePictures(root, { "day/cat": 2, "day/dog": 1, "night/cat": 1, "night/dog": 3 });
  const opened = await openDataset(root);
  expect(opened).toMatchObject({ id: "image-folder", kind: "pictures", hasDomains: true, classes: ["cat", "dog"] });
  expect(opened.domains.map(({ count }) => count)).toEqual([3, 4]);
  await expect(openDataset(temporaryFolder())).rejects.toThrow(DataError);
});

const officeThings = office31.published.classes as readonly string[];
const digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

test.each(["", "/images"])("Office-31 is recognised with its classes in amazon%s", async (between) => {
  const root = temporaryFolder();
  touch(root, "office31", ["amazon", "dslr", "webcam"].map((domain) => `${domain}${between}`), officeThings); // biome-ignore format: short
  const opened = await openDataset(root);
  expect(opened).toMatchObject({ id: "office-31", classes: officeThings });
  expect(opened.domains[1].files?.[0]).toBe(`dslr${between}/back_pack/a.jpg`);
  const { differences } = await verifyDataset(office31, root);
  expect(differences[0]).toBe("domain amazon: 62 pictures, published 2,817 (2,755 fewer)");
});

test("Digits-DG has the pictures of train and val of each domain", async () => {
  const root = temporaryFolder();
  const parts = ["mnist", "mnist_m", "svhn", "syn"].flatMap((domain) => [`${domain}/train`, `${domain}/val`]);
  touch(root, "digits_dg", parts, digits);
  const opened = await openDataset(root);
  expect(opened).toMatchObject({ id: "digits-dg", classes: digits });
  expect(opened.domains.map(({ count }) => count)).toEqual([40, 40, 40, 40]);
  expect(opened.domains[3].files?.slice(0, 4)).toEqual(["syn/train/0/a.jpg", "syn/train/0/b.jpg", "syn/val/0/a.jpg", "syn/val/0/b.jpg"]); // biome-ignore format: short
});

test("SVIRO and NICO++ are known by their domains and classes, and verified by name where no source has a count", async () => {
  const cars = temporaryFolder();
  const names = sviro.published.domains.map(({ name }) => name);
  touch(cars, "SVIRO_DOMAINBED", names, digits.slice(0, 7));
  expect(await openDataset(cars)).toMatchObject({ id: "sviro", classes: digits.slice(0, 7) });
  expect(await verifyDataset(sviro, cars)).toMatchObject({ agrees: true, publishedTotal: null });
  const places = temporaryFolder();
  const surroundings = ["autumn", "dim", "grass", "outdoor", "rock", "water"];
  touch(places, "public_dg_0416/train", surroundings, Array.from({ length: 60 }, (_, i) => `thing ${i}`)); // biome-ignore format: short
  expect((await openDataset(places)).id).toBe("nico");
});

test("a root that does not exist is reported in a sentence", async () => {
  await expect(openDataset("pacs", { root: "/no-such-folder" })).rejects.toThrow(
    "looking for a dataset in /no-such-folder: there is no such folder",
  );
});
