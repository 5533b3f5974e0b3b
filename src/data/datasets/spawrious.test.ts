import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/support/picture-folder.js";
import { openDataset } from "../open-dataset.js";
import { partsOf, spawrious } from "./spawrious.js";

const LOCATIONS = ["beach", "desert", "dirt", "jungle", "mountain", "snow"];
const BREEDS = ["bulldog", "corgi", "dachshund", "labrador"];

/** A copy with so many pictures of a breed at a location. */
function smallCopy(count: number): string {
  const root = temporaryFolder();
  for (const folder of ["0", "1"])
    for (const location of LOCATIONS)
      for (const breed of BREEDS) {
        const path = join(root, "spawrious224", folder, location, breed);
        mkdirSync(path, { recursive: true });
        for (let i = 0; i < count; i++) writeFileSync(join(path, `${i}.png`), "");
      }
  return root;
}

test("the six datasets have the sizes of the reference where all folders are full", () => {
  for (const { published } of spawrious) {
    expect(published!.domains.map(({ count }) => count)).toEqual([25_344, 12_672, 12_672]);
    expect(published!.total).toBe(50_688);
  }
  const task = { id: "", title: "", train: ["a", "b", "c", "d"], test: ["e", "f", "g", "h"], filler: "z" } as const;
  const parts = partsOf(task);
  const bulldogs = parts.SC_group_1.filter(({ breed }) => breed === "bulldog");
  expect(bulldogs).toEqual([
    { folder: "0", location: "a", breed: "bulldog", limit: 3072 },
    { folder: "0", location: "z", breed: "bulldog", limit: 96 },
  ]);
  expect(parts.SC_group_2.filter(({ breed }) => breed === "corgi")).toEqual([
    { folder: "1", location: "d", breed: "corgi", limit: 2756 },
    { folder: "1", location: "z", breed: "corgi", limit: 412 },
  ]);
});

test("a task is opened by its name, with the locations of its table", async () => {
  const root = smallCopy(2);
  const opened = await openDataset("SpawriousO2O_hard", { root }); // as DomainBed spells it
  expect(opened).toMatchObject({ id: "spawrious-o2o-hard", classes: BREEDS, root: join(root, "spawrious224") });
  expect(opened.domains.map(({ name, count }) => [name, count])).toEqual([
    ["Test", 16],
    ["SC_group_1", 16],
    ["SC_group_2", 16],
  ]);
  const at = (domain: number, location: string): string[] =>
    opened.domains[domain].files!.filter((file) => file.includes(`/${location}/`));
  expect(at(1, "jungle")).toEqual(["0/jungle/bulldog/0.png", "0/jungle/bulldog/1.png"]);
  expect(at(2, "jungle")).toEqual(["1/jungle/bulldog/0.png", "1/jungle/bulldog/1.png"]);
  expect(at(0, "jungle").every((file) => file.includes("/corgi/"))).toBe(true); // the test has them before others' backgrounds
  expect(at(1, "beach")).toHaveLength(8); // shared by all
  expect(opened.domains[0].labels[0]).toBe(0);

  const many = await openDataset("spawrious-m2m-easy", { root });
  const bulldogs = (domain: number): string[] =>
    many.domains[domain].files!.filter((file) => file.includes("/bulldog/0."));
  expect(bulldogs(1)).toEqual(["0/desert/bulldog/0.png"]);
  expect(bulldogs(2)).toEqual(["0/mountain/bulldog/0.png"]);
  expect(bulldogs(0)).toEqual(["0/dirt/bulldog/0.png", "0/jungle/bulldog/0.png"]);
});

test("a folder alone does not determine which of the six is meant", async () => {
  await expect(openDataset(smallCopy(1))).rejects.toThrow(
    "contains the pictures of Spawrious, from which six datasets are made: choose one of spawrious-o2o-easy",
  );
  await expect(openDataset("spawrious-m2m-hard", { root: temporaryFolder() })).rejects.toThrow(
    "expected folders 0/beach, 0/desert",
  );
});
