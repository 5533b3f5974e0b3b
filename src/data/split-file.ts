/**
 * A split from a file: JSON with, for each domain of the dataset, the pictures that are `in` and those that are `out`
 * (and, for methods that may see test pictures without labels, `uda`):
 *
 * ```json
 * { "photo": { "in": ["dog/1.jpg", "cat/7.jpg"], "out": ["dog/2.jpg"] }, "sketch": { "in": [0, 2, 3], "out": [1] } }
 * ```
 *
 * A picture is its path, as the dataset lists it or from the domain's folder on, or its place in the domain's order from 0.
 * Everything is checked before training starts: a picture that is both in and out would make every accuracy a lie.
 */
import { readFileSync } from "node:fs";
import { unknownName } from "../closest-name.js";
import { DataError } from "../errors.js";
import type { DomainSplit, Split, SplitName, SplittableDomain } from "./split.js";

/** A domain whose pictures can be named by path. */
export interface ListedDomain extends SplittableDomain {
  /**
   * The paths of the pictures with forward slashes, in the order of the domain; empty for data that is not in files.
   */
  readonly paths?: readonly string[];
}

export interface ReadSplit {
  readonly split: Split;
  /** Warnings about valid but unusual content, such as pictures that are in no split. */
  readonly notes: readonly string[];
}

const partNames: readonly SplitName[] = ["in", "out", "uda"];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value for an error message, shortened if it is long. */
function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** Finds the pictures of one domain by their names in the file, and checks that none is named twice. */
class Places {
  readonly #where: string;
  readonly #domain: ListedDomain;
  readonly #byPath: ReadonlyMap<string, number>;
  readonly #part = new Map<number, SplitName>();

  constructor(domain: ListedDomain, source: string) {
    this.#where = `split file ${source}, domain "${domain.name}"`;
    this.#domain = domain;
    this.#byPath = new Map(domain.paths?.map((path, place) => [path, place]));
  }

  /** The number of pictures that have been named. */
  get named(): number {
    return this.#part.size;
  }

  /** The indices of the pictures that the file lists for a split. */
  read(part: SplitName, list: unknown): number[] {
    if (!Array.isArray(list))
      throw new DataError(`${this.#where}: expected "${part}" to be a list of pictures, got ${brief(list)}`);
    return list.map((name: unknown) => {
      const place = this.#find(part, name);
      const before = this.#part.get(place);
      if (before !== undefined) {
        const where = before === part ? `twice in "${part}"` : `in both "${before}" and "${part}"`;
        throw new DataError(`${this.#where}: ${brief(name)} is ${where}; name each picture once`);
      }
      this.#part.set(place, part);
      return place;
    });
  }

  #find(part: SplitName, name: unknown): number {
    const { count, paths, name: domain } = this.#domain;
    if (typeof name === "number" && Number.isInteger(name)) {
      if (name >= 0 && name < count) return name;
      throw new DataError(`${this.#where}: "${part}" has picture ${name}, but they are numbered 0 to ${count - 1}`);
    }
    if (typeof name !== "string")
      throw new DataError(`${this.#where}: expected paths or places in "${part}", got ${brief(name)}`);
    if (!paths)
      throw new DataError(
        `${this.#where}: "${part}" has the path "${name}", but this dataset's pictures have no paths; use their places, from 0`,
      );
    const path = name.replaceAll("\\", "/").replace(/^(\.\/)+/, "");
    const place = this.#byPath.get(name) ?? this.#byPath.get(path) ?? this.#byPath.get(`${domain}/${path}`);
    if (place !== undefined) return place;
    const example = paths.length > 0 ? ` (its pictures have paths like "${paths[0]}")` : "";
    throw new DataError(`${this.#where}: "${part}" has "${name}", which is not a picture of this domain${example}`);
  }
}

function readDomain(domain: ListedDomain, value: unknown, source: string): { parts: DomainSplit; notes: string[] } {
  const where = `split file ${source}, domain "${domain.name}"`;
  if (!isObject(value)) throw new DataError(`${where}: expected {"in": […], "out": […]}, got ${brief(value)}`);
  for (const key of Object.keys(value))
    if (!partNames.includes(key as SplitName)) throw new DataError(`${where}: ${unknownName("part", key, partNames)}`);
  for (const key of ["in", "out"])
    if (!Object.hasOwn(value, key)) throw new DataError(`${where}: expected "in" and "out"; "${key}" is missing`);
  const places = new Places(domain, source);
  const parts = {
    in: places.read("in", value.in),
    out: places.read("out", value.out),
    uda: places.read("uda", value.uda ?? []),
  };
  const notes: string[] = [];
  const left = domain.count - places.named;
  if (left > 0) notes.push(`${where}: ${left} of ${domain.count} pictures are in no part and will not be used`);
  if (parts.out.length === 0) notes.push(`${where}: "out" is empty, so nothing of this domain can be validated on`);
  return { parts, notes };
}

/** A split from the content of a split file. `source` is the name of the file, for errors. */
export function parseSplit(value: unknown, domains: readonly ListedDomain[], source: string): ReadSplit {
  if (!isObject(value))
    throw new DataError(`split file ${source}: expected an object, domain → {"in": […], "out": […]}, at the top`);
  const names = domains.map(({ name }) => name);
  for (const name of Object.keys(value))
    if (!names.includes(name)) throw new DataError(`split file ${source}: ${unknownName("domain", name, names)}`);
  const notes: string[] = [];
  const split = new Map<string, DomainSplit>();
  for (const domain of domains) {
    if (!Object.hasOwn(value, domain.name))
      throw new DataError(`split file ${source}: expected domains ${names.join(", ")}; "${domain.name}" is missing`);
    const read = readDomain(domain, value[domain.name], source);
    split.set(domain.name, read.parts);
    notes.push(...read.notes);
  }
  return { split, notes };
}

/** Reads and checks a split file. */
export function readSplitFile(file: string, domains: readonly ListedDomain[]): ReadSplit {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new DataError(`split file ${file}: could not be read (${(cause as Error).message})`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DataError(`split file ${file}: expected JSON (${(cause as Error).message})`, { cause });
  }
  return parseSplit(value, domains, file);
}
