/**
 * Spawrious: generated dogs on backgrounds that are correlated with their breeds in training but not in the test. Six
 * datasets are made of the same pictures, as in DomainBed: the domain `Test`, and two training domains with the same
 * backgrounds in different proportions. The protocol holds out only `Test`.
 *
 *     spawrious224/0/desert/bulldog/….png     folder 0 or 1, location, breed: 3,168 pictures each
 *
 * - one to one (o2o): in `SC_group_1` (folder 0), 97 % of a breed have its own background and the rest a common one; in
 *   `SC_group_2` (folder 1), 87 %. In the test every breed has the background of another.
 * - many to many (m2m): each breed has one of two backgrounds in the first group and the other in the second (folder
 *   0).
 *
 * If only a part of a folder is used, it is the first files by name. DomainBed uses the order of the file system, which
 * differs between machines.
 */
import { join } from "node:path";
import { DataError } from "../../errors.js";
import { type DatasetDefinition, defineDataset, type PictureDomain } from "../dataset.js";
import { findFolderWith } from "../discover.js";
import { readFolderTree } from "../folder-tree.js";
import { showName } from "../show-name.js";

/** The classes in the order of their numbers. */
const BREEDS = ["bulldog", "corgi", "dachshund", "labrador"] as const;
/** The order of breeds in the tables of locations. */
const LISTED = ["bulldog", "dachshund", "labrador", "corgi"] as const;
/** The number of pictures of a breed at a location. */
const FULL = 3168;

type Locations = readonly [string, string, string, string];

interface Task {
  readonly id: string;
  readonly title: string;
  /** The locations of the breeds in training, in the order of LISTED. */
  readonly train: Locations;
  readonly test: Locations;
  /** The common location of all breeds; absent in many-to-many tasks. */
  readonly filler?: string;
}

const TASKS: readonly Task[] = [
  { id: "o2o-easy", title: "O2O easy", train: ["desert", "jungle", "dirt", "snow"], test: ["dirt", "snow", "desert", "jungle"], filler: "beach" },
  { id: "o2o-medium", title: "O2O medium", train: ["mountain", "beach", "dirt", "jungle"], test: ["jungle", "dirt", "beach", "snow"], filler: "desert" },
  { id: "o2o-hard", title: "O2O hard", train: ["jungle", "mountain", "snow", "desert"], test: ["mountain", "snow", "desert", "jungle"], filler: "beach" },
  { id: "m2m-easy", title: "M2M easy", train: ["desert", "mountain", "dirt", "jungle"], test: ["dirt", "jungle", "mountain", "desert"] },
  { id: "m2m-medium", title: "M2M medium", train: ["beach", "snow", "mountain", "desert"], test: ["desert", "mountain", "beach", "snow"] },
  { id: "m2m-hard", title: "M2M hard", train: ["dirt", "jungle", "snow", "beach"], test: ["snow", "beach", "dirt", "jungle"] },
]; // biome-ignore format: a table

/** A part of a domain: a number of pictures of a breed at a location in a folder. */
interface Part {
  readonly folder: "0" | "1";
  readonly location: string;
  readonly breed: (typeof BREEDS)[number];
  /** All pictures if absent. */
  readonly limit?: number;
}

/** The same locations with each pair swapped. */
const swapped = ([a, b, c, d]: Locations): Locations => [b, a, d, c];

/** The parts of each domain of a task. */
export function partsOf({ train, test, filler }: Task): Readonly<Record<"Test" | "SC_group_1" | "SC_group_2", Part[]>> {
  const all = (folder: Part["folder"], locations: Locations, limit?: number): Part[] =>
    LISTED.map((breed, i) => ({ folder, location: locations[i], breed, limit }));
  if (filler === undefined)
    return {
      Test: [...all("0", test), ...all("0", swapped(test))],
      SC_group_1: all("0", train, FULL),
      SC_group_2: all("0", swapped(train), FULL),
    };
  const group = (folder: Part["folder"], own: number): Part[] => [
    ...all(folder, train, own),
    ...all(folder, [filler, filler, filler, filler], FULL - own),
  ];
  return {
    Test: [...all("0", test), ...all("1", test)],
    SC_group_1: group("0", Math.trunc(0.97 * FULL)),
    SC_group_2: group("1", Math.trunc(0.87 * FULL)),
  };
}

const LOCATIONS = ["beach", "desert", "dirt", "jungle", "mountain", "snow"];
const locate = (root: string): Promise<string | undefined> =>
  findFolderWith(
    root,
    LOCATIONS.map((location) => join("0", location)),
  );

/** Whether a folder contains the pictures of Spawrious, at or up to two levels below it. */
export const hasSpawrious = async (root: string): Promise<boolean> => (await locate(root)) !== undefined;

/** Lists the pictures of a folder once, even if several parts use it. */
function lister(root: string): (part: Part) => Promise<string[]> {
  const known = new Map<string, Promise<string[]>>();
  const read = async (folder: string): Promise<string[]> =>
    (await readFolderTree(join(root, folder))).top.pictures.map((name) => `${folder}/${name}`);
  return async ({ folder, location, breed, limit }) => {
    const path = `${folder}/${location}/${breed}`;
    if (!known.has(path)) known.set(path, read(path));
    return (await known.get(path)!).slice(0, limit);
  };
}

function define(task: Task): DatasetDefinition {
  const id = `spawrious-${task.id}`;
  const title = `Spawrious ${task.title}`;
  return defineDataset({
    id,
    title,
    summary: `generated dogs of four breeds, whose backgrounds mislead (${task.filler ? "one background a breed" : "two backgrounds a breed"})`,
    paper:
      "Lynch, Dovonon, Kaddour and Silva, Spawrious: A Benchmark for Fine Control of Spurious Correlation Biases, 2023, https://arxiv.org/abs/2303.05470",
    licence: "CC BY 4.0 as its README states, CC0 1.0 as its licence file does",
    source: "the authors' repository, https://github.com/aengusl/spawrious, which links the download",
    layout: "spawrious224/0/desert/bulldog/….png",
    needsRoot: true,
    options: {},
    published: {
      domains: [
        { name: "Test", label: "Test", count: 8 * FULL },
        { name: "SC_group_1", label: "SC_group_1", count: 4 * FULL },
        { name: "SC_group_2", label: "SC_group_2", count: 4 * FULL },
      ],
      classes: BREEDS,
      total: 16 * FULL,
    },
    protocol: { steps: 5001, evaluateEvery: 100 },
    async open({ root, options }) {
      const folder = await locate(root);
      if (folder === undefined)
        throw new DataError(
          `dataset ${id}: expected folders 0/${LOCATIONS.join(", 0/")} in ${showName(root)} or up to two levels below; found none`,
        );
      const list = lister(folder);
      const domains: PictureDomain[] = [];
      for (const [name, parts] of Object.entries(partsOf(task))) {
        const files: string[] = [];
        const labels: number[] = [];
        for (const part of parts)
          for (const file of await list(part)) {
            files.push(file);
            labels.push(BREEDS.indexOf(part.breed));
          }
        domains.push({ name, count: files.length, files, labels: Int32Array.from(labels) });
      }
      return {
        id,
        title,
        kind: "pictures",
        root: folder,
        hasDomains: true,
        inputShape: [3, 224, 224],
        augmentable: true,
        options,
        classes: BREEDS,
        domains,
        notes: ["the protocol of this benchmark tests on the domain Test alone"],
      };
    },
  });
}

/** The six datasets. */
export const spawrious: readonly DatasetDefinition[] = TASKS.map(define);
