/**
 * Validates the result of a dataset's `open`. TypeScript checks the built-in datasets, but a plug-in in JavaScript has
 * no compiler, and an invalid label or a short list would show only during training, or not at all.
 */

import { UsageError } from "../errors.js";
import type { Dataset } from "./dataset.js";

type Unchecked = Readonly<Record<string, unknown>>;

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const areNames = (value: unknown): boolean => isList(value) && value.every((each) => typeof each === "string");

/** The requirements of each field, as text and as a test. */
const FIELDS: Readonly<Record<string, readonly [expected: string, fits: (value: unknown) => boolean]>> = {
  id: ["its id", (value) => typeof value === "string"],
  title: ["its title", (value) => typeof value === "string"],
  kind: ['"pictures" or "arrays"', (value) => value === "pictures" || value === "arrays"],
  classes: ["the names of the classes", (value) => areNames(value) && (value as []).length > 0],
  hasDomains: ["true or false", (value) => typeof value === "boolean"],
  inputShape: [
    "channels, height, width, or the length of a vector: [3, 224, 224] for picture files",
    (value) => isList(value) && value.length > 0 && value.every((size) => Number.isSafeInteger(size)),
  ],
  augmentable: ["true or false", (value) => typeof value === "boolean"],
  options: ["the options that open was given", (value) => typeof value === "object" && value !== null],
  notes: ["a list of texts, which may be empty", areNames],
  domains: ["a list of domains", (value) => isList(value) && value.length > 0],
};

/** Throws if a dataset is not valid. */
export function checkDataset(id: string, opened: unknown): asserts opened is Dataset {
  const refuse = (problem: string): never => {
    throw new UsageError(
      `dataset ${id}: "open" returned ${problem}; examples/plugin-dataset/sensors.mjs has a complete example`,
    );
  };
  if (typeof opened !== "object" || opened === null) return refuse("no dataset");
  const dataset = opened as Unchecked;
  for (const [name, [expected, fits]] of Object.entries(FIELDS))
    if (!fits(dataset[name])) refuse(`${JSON.stringify(dataset[name]) ?? "nothing"} as ${name}, expected ${expected}`);
  if (dataset.kind === "pictures" && typeof dataset.root !== "string")
    refuse("no root, expected the folder that the files' paths start from");
  for (const domain of dataset.domains as Unchecked[]) {
    const problem = wrongIn(domain, dataset.kind as Dataset["kind"], (dataset.classes as string[]).length);
    if (problem) refuse(`domain ${JSON.stringify(domain?.name)} with ${problem}`);
  }
}

function wrongIn(domain: Unchecked, kind: Dataset["kind"], classes: number): string | undefined {
  const { name, count, labels, files, read } = domain ?? {};
  if (typeof name !== "string" || name === "") return "no name";
  if (!Number.isSafeInteger(count)) return `${count} as count, expected how many samples it has`;
  if (!(labels instanceof Int32Array) || labels.length !== count)
    return `labels that are not an Int32Array of ${count}, one a sample`;
  const label = labels.find((each) => each < 0 || each >= classes);
  if (label !== undefined) return `the label ${label}, expected places among the ${classes} classes, from 0`;
  if (kind === "arrays")
    return typeof read === "function" ? undefined : 'no function "read", from a place to its sample';
  return isList(files) && files.length === count ? undefined : `files that are not a list of ${count} paths`;
}
