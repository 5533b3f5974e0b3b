/**
 * A folder of your own pictures: domain/class/picture, or class/picture for pictures without domains.
 *
 * The layout is detected by the depth of most pictures. Folders below a class folder belong to the class, as in the
 * loaders of the reference.
 */
import { DataError, UsageError } from "../../errors.js";
import { option } from "../../options.js";
import type { PictureDomain } from "../dataset.js";
import { defineDataset } from "../dataset.js";
import { labelFolders } from "../folder-dataset.js";
import { countPictures, type Folder, readFolderTree } from "../folder-tree.js";
import { countOf, showName } from "../show-name.js";
import type { Split } from "../split.js";

const layouts = ["auto", "domain/class", "class"] as const;
type Layout = Exclude<(typeof layouts)[number], "auto">;

const withPictures = (folder: Folder): Folder[] => folder.folders.filter((below) => countPictures(below) > 0);

/** The minimum number of folders between a folder and a picture. */
function depthOfPictures(folder: Folder): number {
  if (folder.pictures.length > 0) return 0;
  return 1 + Math.min(...withPictures(folder).map(depthOfPictures));
}

/** Skips folders that contain only one folder, as long as domain, class and picture still fit below. */
function unwrap(folder: Folder): Folder {
  const [only, second] = withPictures(folder);
  const wraps = only && !second && folder.pictures.length === 0 && depthOfPictures(folder) > 2;
  return wraps ? unwrap(only) : folder;
}

/**
 * The folders are domains if more pictures are at least two levels down than one level down; otherwise they are
 * classes.
 */
function layoutOf(folder: Folder): Layout {
  const inClasses = folder.folders.reduce((sum, below) => sum + below.pictures.length, 0);
  const deeper = countPictures(folder) - folder.pictures.length - inClasses;
  return deeper > inClasses ? "domain/class" : "class";
}

function checkLayout(text: string): (typeof layouts)[number] {
  const found = layouts.find((layout) => layout === text);
  if (found) return found;
  throw new UsageError(`dataset image-folder: expected layout to be ${layouts.join(", ")}, got "${text}"`);
}

/** Names that other tools give to splits. They are not domains. */
const PART_NAMES = { train: /^train(ing)?$/i, validation: /^(val(id(ation)?)?|dev)$/i, test: /^test(ing)?$/i } as const;
type PartName = keyof typeof PART_NAMES;

const partOf = (name: string): PartName | undefined =>
  (Object.keys(PART_NAMES) as PartName[]).find((part) => PART_NAMES[part].test(name));

interface Parts {
  readonly domain: PictureDomain;
  readonly givenSplit: Split;
  readonly notes: readonly string[];
}

/**
 * The folders `train` and `val` (or, without it, `test`) as one domain with that split; undefined if the folders have
 * other names. If both exist, `test` is kept out of training, for `nudge eval`.
 */
function partsOf(domains: readonly PictureDomain[]): Parts | undefined {
  const found = new Map(domains.map((domain) => [partOf(domain.name), domain]));
  const training = found.get("train");
  const heldBack = found.get("validation") ?? found.get("test");
  if (domains.length < 2 || found.has(undefined) || found.size !== domains.length || !training || !heldBack)
    return undefined;
  const files = [...training.files, ...heldBack.files];
  const labels = Int32Array.from([...training.labels, ...heldBack.labels]);
  const places = files.map((_, i) => i);
  const split = { in: places.slice(0, training.count), out: places.slice(training.count), uda: [] };
  const test = found.get("validation") && found.get("test");
  return {
    domain: { name: "all", count: files.length, labels, files },
    givenSplit: new Map([["all", split]]),
    notes: [
      `"${showName(training.name)}" is used for training and "${showName(heldBack.name)}" for validation, as their names suggest; use data.layout=domain/class to treat them as domains`,
      ...(test
        ? [
            `"${showName(test.name)}" is not used for training; evaluate on it with nudge eval MODEL --data ${showName(test.name)}`,
          ]
        : []),
    ],
  };
}

/**
 * Throws if the classes of `train` and the others are domains, which have the classes inside: train/shop/cup. A classifier of
 * domains would be trained, with a high accuracy.
 */
function checkClassesInside(where: string, top: Folder): void {
  const inside = withPictures(top).flatMap(({ folders }) => folders.filter((below) => countPictures(below) > 0));
  const names = inside.map(({ pictures, folders }) => (pictures.length > 0 ? [] : folders.map(({ name }) => name)));
  const domains = new Set(inside.map(({ name }) => name));
  const isInAll = names[0]?.find((name) => names.every((own) => own.includes(name)));
  if (domains.size < 2 || isInAll === undefined) return;
  const [part] = withPictures(top);
  const [first, second] = domains;
  throw new UsageError(
    `${where}: "${showName(part.name)}" contains "${showName(first)}" and "${showName(second)}", which have the same folders inside, such as "${showName(isInAll)}": these are domains with classes, and not classes. Use the folder of the domains, --data ${showName(part.path)}`,
  );
}

/** The folders that are domains. For `class`, the whole folder is one domain. */
function domainsOf(top: Folder, layout: Layout): { name: string; shown: string; folder: Folder }[] {
  if (layout === "class") return [{ name: "all", shown: "the folder", folder: top }];
  return withPictures(top).map((folder) => ({ name: folder.name, shown: `domain "${showName(folder.name)}"`, folder }));
}

export const imageFolder = defineDataset({
  id: "image-folder",
  title: "Folder of pictures",
  summary: "your own pictures, in folders by domain and class, or by class only",
  paper: "none: cite where the pictures come from",
  licence: "that of the pictures",
  source: "one's own",
  layout:
    "folder/domain/class/picture.jpg, or folder/class/picture.jpg; folders named train and val are used as a split",
  needsRoot: true,
  options: { layout: option("auto", "domain/class, class, or auto (by the depth of the folders)") },
  protocol: { steps: 5001, evaluateEvery: 300 },
  async open({ root, options }) {
    const asked = checkLayout(options.layout);
    const tree = await readFolderTree(root);
    const where = `folder ${showName(root)}`;
    if (countPictures(tree.top) === 0)
      throw new DataError(
        `${where}: found no pictures (JPEG, PNG, WebP, BMP, TIFF, GIF, AVIF, PPM, PGM by extension); expected domain/class/picture or class/picture below it${tree.notes.map((note) => `; ${note}`).join("")}`,
      );
    if (withPictures(tree.top).length === 0)
      throw new DataError(
        `${where}: its ${countOf(tree.top.pictures.length, "picture is", "pictures are")} not in class folders; put each one in a folder named after its class, or list them in a manifest (CSV with path, label, domain)`,
      );
    const top = unwrap(tree.top);
    const layout = asked === "auto" ? layoutOf(top) : asked;
    const labelled = labelFolders(where, domainsOf(top, layout));
    const parts = asked === "auto" && layout === "domain/class" ? partsOf(labelled.domains) : undefined;
    if (parts) checkClassesInside(where, top);
    const notes = [...tree.notes, ...(parts?.notes ?? [])];
    if (top !== tree.top) notes.push(`the dataset starts at "${showName(top.path)}"`);
    if (layout === "domain/class" && top.pictures.length > 0)
      notes.push(`skipped: ${countOf(top.pictures.length, "picture")} outside any domain folder`);
    const empty = layout === "domain/class" ? top.folders.filter((below) => countPictures(below) === 0) : [];
    for (const { name } of empty) notes.push(`skipped: folder "${showName(name)}", which has no pictures`);
    if (layout === "class")
      notes.push(
        "there are no domains; methods that need them, and holding out a domain, need folders domain/class/picture",
      );
    else if (labelled.domains.length === 1)
      notes.push(
        `there is only one domain, "${showName(labelled.domains[0].name)}"; holding out a domain needs at least two`,
      );
    return {
      id: "image-folder",
      title: "Folder of pictures",
      kind: "pictures",
      root,
      upright: true,
      hasDomains: layout === "domain/class" && !parts,
      inputShape: [3, 224, 224],
      augmentable: true,
      options: { ...options, layout: parts ? "auto" : layout },
      ...(parts && { givenSplit: parts.givenSplit }),
      classes: labelled.classes,
      domains: parts ? [parts.domain] : labelled.domains,
      notes: [...notes, ...labelled.notes],
    };
  },
});
