import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { checkDataset } from "./check-dataset.js";

const domain = { name: "hall", count: 2, labels: Int32Array.from([0, 1]), files: ["a.jpg", "b.jpg"] };
const whole = {
  ...{ id: "mine", title: "Mine", kind: "pictures", root: "data", hasDomains: true, notes: [], options: {} },
  ...{ classes: ["bad", "good"], inputShape: [3, 224, 224], augmentable: true, domains: [domain] },
};

test("a whole dataset is taken, of pictures or of arrays", () => {
  expect(() => checkDataset("mine", whole)).not.toThrow();
  const { files: _, ...arrays } = { ...domain, read: () => new Float32Array(3) };
  expect(() => checkDataset("mine", { ...whole, kind: "arrays", root: null, domains: [arrays] })).not.toThrow();
});

test.each<[which: string, opened: unknown, words: string]>([
  ["nothing", undefined, '"open" returned no dataset'],
  ["no kind", { ...whole, kind: undefined }, 'nothing as kind, expected "pictures" or "arrays"'],
  ["no classes", { ...whole, classes: [] }, "[] as classes, expected the names of the classes"],
  ["no notes", { ...whole, notes: undefined }, "nothing as notes, expected a list of texts, which may be empty"],
  ["pictures without a root", { ...whole, root: null }, "no root, expected the folder"],
  ["no domains", { ...whole, domains: [] }, "[] as domains, expected a list of domains"],
  ["a domain without a name", { ...whole, domains: [{ ...domain, name: "" }] }, 'domain "" with no name'],
  [
    "labels in a plain list",
    { ...whole, domains: [{ ...domain, labels: [0, 1] }] },
    'domain "hall" with labels that are not an Int32Array of 2, one a sample',
  ],
  [
    "a label that no class has",
    { ...whole, domains: [{ ...domain, labels: Int32Array.from([0, 2]) }] },
    'domain "hall" with the label 2, expected places among the 2 classes, from 0',
  ],
  [
    "fewer files than samples",
    { ...whole, domains: [{ ...domain, files: ["a.jpg"] }] },
    'domain "hall" with files that are not a list of 2 paths',
  ],
  ["arrays that cannot be read", { ...whole, kind: "arrays" }, 'domain "hall" with no function "read"'],
])("a dataset with %s is refused with a clear error", (_, opened, words) => {
  expect(() => checkDataset("mine", opened)).toThrow(UsageError);
  expect(() => checkDataset("mine", opened)).toThrow(words);
});
