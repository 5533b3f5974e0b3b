/**
 * A published benchmark in folders domain/class/picture. It is found by the names of its domains, and has its published
 * order.
 */

import { join } from "node:path";
import { DataError } from "../../errors.js";
import { readText } from "../../files/open-file.js";
import { option } from "../../options.js";
import { type DatasetDefinition, defineDataset, type PictureDataset, type Published } from "../dataset.js";
import { type FoundFolder, findDomainFolders, plainName } from "../discover.js";
import { labelFolders } from "../folder-dataset.js";
import { type Folder, readFolderTree } from "../folder-tree.js";
import { countOf, listNames, showName } from "../show-name.js";

export interface BenchmarkFacts extends Omit<DatasetDefinition, "needsRoot" | "options" | "open" | "published"> {
  readonly published: Published;
  /** Whether there is a published list of duplicates to exclude. */
  readonly duplicateList?: boolean;
  /** Folders between a domain and its classes, each with a part of the pictures (`train`, `val`). All are used. */
  readonly parts?: readonly string[];
}

export interface FolderBenchmark extends DatasetDefinition {
  readonly published: Published;
  readonly parts?: readonly string[];
  /** Opens the domains that exist, to report what is missing. It is an error if there are fewer than two. */
  openPresent(root: string, options?: { duplicates?: string }): Promise<PictureDataset>;
}

const duplicates = option("", "a text file of paths to exclude, one per line, relative to the folder of the dataset");

/** Declares a benchmark. */
export function folderBenchmark({ duplicateList, ...facts }: BenchmarkFacts): FolderBenchmark {
  const options: Readonly<Record<string, typeof duplicates>> = duplicateList ? { duplicates } : {};
  const definition = defineDataset({
    ...facts,
    needsRoot: true,
    options,
    async open({ root, options }) {
      const place = await locate(facts, root);
      checkComplete(facts, place.found);
      return { ...(await openFolders(facts, place, options.duplicates || undefined)), options };
    },
  });
  return {
    ...definition,
    published: facts.published,
    parts: facts.parts,
    async openPresent(root, options = {}) {
      return { ...(await openFolders(facts, await locate(facts, root), options.duplicates || undefined)), options: {} };
    },
  };
}

/**
 * The folder that contains the class folders of a domain: its own, one level below (`amazon/images`), or all its parts
 * together.
 */
function classesIn(domain: Folder, parts: readonly string[] = []): Folder {
  const between = domain.folders.filter(({ name }) => parts.includes(plainName(name)));
  if (between.length > 0) return { ...domain, folders: between.flatMap(({ folders }) => folders) };
  const [only, ...others] = domain.folders;
  const isBetween = only && others.length === 0 && domain.pictures.length === 0 && only.folders.length > 0;
  return isBetween ? classesIn(only, parts) : domain;
}

interface Place {
  readonly found: FoundFolder;
  readonly notes: readonly string[];
}

const expectation = ({ id, published }: BenchmarkFacts): string =>
  `dataset ${id}: expected domains ${published.domains.map(({ name }) => name).join(", ")}`;

/** The folder of a benchmark at or below `root`: the nearest folder with the most domains. */
async function locate(facts: BenchmarkFacts, root: string): Promise<Place> {
  const [[found, ...rest]] = await findDomainFolders(root, [facts.published.domains]);
  if (!found)
    throw new DataError(
      `${expectation(facts)} in ${showName(root)} or up to three levels below; found no such folders`,
    );
  const notes: string[] = [];
  const otherMatches = rest.filter((other) => !other.domains.includes(undefined)).map(({ path }) => path);
  if (otherMatches.length > 0)
    notes.push(`used ${showName(found.path)}; it could also have been ${listNames(otherMatches)}`);
  if (found.others.length > 0)
    notes.push(
      `skipped: ${countOf(found.others.length, "folder")} that ${found.others.length === 1 ? "is" : "are"} not a domain of ${facts.id} (${listNames(found.others)})`,
    );
  return { found, notes };
}

function checkComplete(facts: BenchmarkFacts, found: FoundFolder): void {
  const missing = facts.published.domains.filter((_, i) => found.domains[i] === undefined).map(({ name }) => name);
  if (missing.length === 0) return;
  const among = found.others.length > 0 ? `; other folders there: ${listNames(found.others)}` : "";
  throw new DataError(
    `${expectation(facts)} in ${showName(found.path)}; ${listNames(missing)} ${missing.length === 1 ? "is" : "are"} missing${among}`,
  );
}

/** The paths in a list of duplicates, without empty lines. */
function readDuplicates(file: string): Set<string> {
  try {
    const lines = readText(file)
      .split(/\r?\n/)
      .map((line) => line.trim().replace(/^\.?\//, ""));
    return new Set(lines.filter((line) => line !== ""));
  } catch (cause) {
    throw new DataError(`list of duplicates ${showName(file)}: could not be read (${(cause as Error).message})`, {
      cause,
    });
  }
}

async function openFolders(
  { id, title, published, parts }: BenchmarkFacts,
  { found, notes: before }: Place,
  duplicateFile: string | undefined,
): Promise<Omit<PictureDataset, "options">> {
  const notes = [...before];
  const present = published.domains.flatMap(({ name }, i) => {
    const folder = found.domains[i];
    return folder === undefined ? [] : [{ domain: name, name: folder }];
  });
  const trees = await Promise.all(
    present.map(async (each) => ({ ...each, tree: await readFolderTree(join(found.path, each.name)) })),
  );
  for (const { name, tree } of trees) notes.push(...tree.notes.map((note) => `${showName(name)}: ${note}`));
  const known = typeof published.classes === "number" ? [] : published.classes;
  const byPlainName = new Map(known.map((name) => [plainName(name), name]));
  const labelled = labelFolders(
    `dataset ${id} in ${showName(found.path)}`,
    // A domain gets its published name, so that records of copies with other spellings agree.
    trees.map(({ domain, tree }) => ({
      name: domain,
      shown: `domain "${domain}"`,
      folder: classesIn(tree.top, parts),
    })),
    (name) => byPlainName.get(plainName(name)) ?? name,
  );
  notes.push(...labelled.notes);
  let domains = labelled.domains.map((domain, i) => ({
    ...domain,
    files: domain.files.map((file) => `${trees[i].name}/${file}`),
  }));
  if (duplicateFile !== undefined) {
    const listed = readDuplicates(duplicateFile);
    let removed = 0;
    domains = domains.map(({ name, files, labels }) => {
      const kept = files.flatMap((file, i) => (listed.has(file) ? [] : [i]));
      removed += files.length - kept.length;
      return {
        name,
        count: kept.length,
        files: kept.map((i) => files[i]),
        labels: Int32Array.from(kept, (i) => labels[i]),
      };
    });
    notes.push(
      `skipped: ${countOf(removed, "picture")} of the ${listed.size.toLocaleString("en-US")} in the list of duplicates`,
    );
    if (removed === 0)
      notes.push(
        `the list of duplicates ${showName(duplicateFile)} contains no existing file; its paths should look like "${domains[0].files[0]}"`,
      );
  }
  return {
    id,
    title,
    kind: "pictures",
    root: found.path,
    hasDomains: true,
    inputShape: [3, 224, 224],
    augmentable: true,
    classes: labelled.classes,
    domains,
    notes,
  };
}
