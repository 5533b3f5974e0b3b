/**
 * Domains from folders. Class folders become labels; a class has the same label in every domain, whichever classes a
 * domain has.
 */
import { DataError } from "../errors.js";
import { byCodePoint } from "./code-point-order.js";
import type { PictureDomain } from "./dataset.js";
import { countPictures, type Folder, picturesUnder } from "./folder-tree.js";
import { countOf, listNames, showName } from "./show-name.js";
import { similarNames } from "./similar-names.js";

/** A domain on disk: its name, and the folder that contains its class folders. */
export interface DomainFolder {
  readonly name: string;
  /** The name in notes. */
  readonly shown: string;
  readonly folder: Folder;
}

export interface LabelledFolders {
  readonly classes: readonly string[];
  readonly domains: readonly PictureDomain[];
  readonly notes: readonly string[];
}

/** The pictures of each class of a domain. */
function classesOf({ folder }: DomainFolder, nameOf: (folder: string) => string): Map<string, string[]> {
  const classes = new Map<string, string[]>();
  for (const below of folder.folders) {
    const pictures = picturesUnder(below);
    if (pictures.length === 0) continue;
    const name = nameOf(below.name);
    classes.set(name, [...(classes.get(name) ?? []), ...pictures]);
  }
  return classes;
}

/**
 * Labels the pictures of some domains. The classes are those of all domains, sorted; `nameOf` can rename a class
 * folder. (DomainBed numbers the classes of each domain separately, which mixes up labels if domains have different
 * classes. If they have the same, the result is the same.)
 */
export function labelFolders(
  where: string,
  folders: readonly DomainFolder[],
  nameOf: (folder: string) => string = (name) => name,
): LabelledFolders {
  const byDomain = folders.map((domain) => classesOf(domain, nameOf));
  const classes = [...new Set(byDomain.flatMap((found) => [...found.keys()]))].sort(byCodePoint);
  if (classes.length === 0)
    throw new DataError(`${where}: found no pictures in class folders; expected domain/class/picture or class/picture`);
  const notes = similarNames(classes);
  const domains = folders.map(({ name, shown, folder }, i): PictureDomain => {
    const files: string[] = [];
    const labels: number[] = [];
    for (const [label, className] of classes.entries())
      for (const file of byDomain[i].get(className) ?? []) {
        files.push(file);
        labels.push(label);
      }
    if (files.length === 0)
      throw new DataError(`${where}: ${shown} has no pictures in class folders; add some, or move the folder away`);
    if (folder.pictures.length > 0)
      notes.push(
        `${shown}: ${countOf(folder.pictures.length, "picture")} outside any class folder skipped (${listNames(folder.pictures, 3)})`,
      );
    const empty = folder.folders.filter((below) => countPictures(below) === 0).map((below) => below.name);
    if (empty.length > 0)
      notes.push(`${shown}: ${countOf(empty.length, "folder")} without pictures skipped (${listNames(empty)})`);
    const missing = classes.filter((className) => !byDomain[i].has(className));
    if (missing.length > 0)
      notes.push(
        `${shown} has no pictures of ${countOf(missing.length, "class", "classes")} that other domains have: ${listNames(missing)}`,
      );
    return { name, count: files.length, labels: Int32Array.from(labels), files };
  });
  if (classes.length === 1)
    notes.push(`there is only one class, "${showName(classes[0])}", so there is nothing to classify`);
  return { classes, domains, notes };
}
