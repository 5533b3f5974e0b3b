import { expect, test } from "vitest";
import { type Dataset, domainNamed, domainsNamed } from "./dataset.js";

const dataset = (...names: string[]): Dataset =>
  ({ id: "image-folder", domains: names.map((name) => ({ name })) }) as unknown as Dataset;
const found = (given: string, ...names: string[]): string[] =>
  domainsNamed(
    dataset(...names),
    given.split(",").map((piece) => piece.trim()),
  ).map(({ name }) => name);

test("domains are named with commas between them, and may have commas in their names", () => {
  const names = ["Berlin, Mitte", "Berlin", "a,b", "Rom"];
  expect(found("Rom,Berlin", ...names)).toEqual(["Rom", "Berlin"]);
  expect(found("Berlin, Mitte", ...names)).toEqual(["Berlin, Mitte"]);
  expect(found("Rom,Berlin, Mitte,a,b,Berlin", ...names)).toEqual(["Rom", "Berlin, Mitte", "a,b", "Berlin"]);
  expect(found("a,b", "a", "b", "a,b")).toEqual(["a", "b"]);
  expect(() => found("Rom,Mitte", ...names)).toThrow('unknown domain "Mitte"');
});

test("a domain is found by its typed name, in any Unicode normal form", () => {
  const stored = "Ko\u0308ln";
  expect(domainNamed(dataset(stored, "Rom"), "K\u00f6ln").name).toBe(stored);
  expect(domainNamed(dataset(stored, "K\u00f6ln"), "K\u00f6ln").name).toBe("K\u00f6ln"); // exactly, where both are there
  expect(() => domainNamed(dataset(stored), "Koln")).toThrow("did you mean");
});
