import { expect, test } from "vitest";
import { datasets } from "../data/datasets/index.js";
import { AVERAGE, paperDatasets, publishedDataset, publishedDomain } from "./published.js";

test("numbers are found under any spelling of a method, with the error and the source", () => {
  expect(publishedDomain("pacs", "ERM-NU", "A")).toEqual({ mean: 87.4, error: 0.5, source: "this paper; tab:pacs" });
  expect(publishedDataset("GroupDRO", "vlcs")).toMatchObject({ mean: 76.7, error: 0.6 });
  expect(publishedDataset("MixStyle")).toEqual({
    mean: 60.3,
    error: null,
    source: "SWAD (Cha et al. 2021); tab:domain_bed",
  });
  expect(publishedDataset("SWAD-CORAL", "pacs")?.source).toContain("tab:swad");
  expect(publishedDataset("Mixup-NU", "domain-net")).toMatchObject({
    mean: 42.3,
    source: "this paper; tab:domain_net",
  });
});

test("what the paper does not print is null", () => {
  expect(publishedDomain("shapes", "ERM", "A")).toBeNull();
  expect(publishedDomain("pacs", "ERM-FRO", "A")).toBeNull();
  expect(publishedDataset("Mixup-NU")).toBeNull();
  expect(publishedDataset("ERM", "shapes")).toBeNull();
});

test("the paper's columns are the labels of our domains, and its rows average to what it prints", () => {
  for (const dataset of paperDatasets) {
    const labels = datasets[dataset].published!.domains.map(({ label }) => label);
    for (const method of ["ERM", "ERM-NU", "SWAD-NU", "Mixup"]) {
      const means = labels.map((label) => publishedDomain(dataset, method, label)!.mean);
      const mean = means.reduce((sum, value) => sum + value, 0) / means.length;
      // Each number is printed with one decimal, so the rounding error is half of it on either side.
      expect(Math.abs(mean - publishedDomain(dataset, method, AVERAGE)!.mean)).toBeLessThan(0.101);
    }
  }
});
