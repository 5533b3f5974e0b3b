/**
 * The assessment of a run's model, and the pictures it misclassified. The settings of a run may come from anybody and
 * name any folder, so a picture is shown only if it is a file in the dataset's folder and that folder is below one of
 * the `roots` that the user chose, after following links. A picture is requested by its index in the assessment, never
 * by a path.
 */

import { realpathSync, statSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { ASSESSMENT_FILE, type Assessment as StoredAssessment } from "../analysis/assessment.js";
import { findDomainFolders } from "../data/discover.js";
import { jsonIn, liesIn } from "../files/inside-files.js";
import type { StoredFiles } from "../files/stored-files.js";
import { ESTIMATE_FILE, SETTINGS_FILE } from "../records/run.js";
import type { Assessment } from "./api.js";

/** The assessment among the files of a run; null if there is none or it cannot be read. */
export async function runMistakes(files: StoredFiles, roots: readonly string[]): Promise<Assessment | null> {
  const stored = readStored(files);
  if (!stored) return null;
  const place = await dataFolder(files, roots);
  const part = stored.domains.some((domain) => domain.part === "held out") ? "held out" : "validation";
  const heldOutFirst = [...stored.domains].sort((a, b) => Number(b.part === part) - Number(a.part === part));
  return {
    classes: stored.classes,
    of: part === "held out" ? "held-out domains" : "validation pictures",
    confusion: heldOutFirst.map(({ name, confusion }) => ({ domain: name, counts: confusion })),
    mostWrong: stored.mostWrong.flatMap(({ path, domain, label, predicted, confidence, truth, part: of }, n) =>
      of === part
        ? [{ n, name: path, domain, label, predicted, confidence, truth, shown: pictureIn(place, path) !== undefined }]
        : [],
    ),
  };
}

/** The file of the n-th picture of an assessment; undefined if it must not be shown. */
export async function wrongPicture(
  files: StoredFiles,
  n: number,
  roots: readonly string[],
): Promise<string | undefined> {
  const picture = readStored(files)?.mostWrong[n];
  return picture && pictureIn(await dataFolder(files, roots), picture.path);
}

type Shown = Pick<StoredAssessment, "classes" | "domains" | "mostWrong">;

/** The assessment that the run's report shows: for a final model the estimate, if there is one. */
function readStored(files: StoredFiles): Shown | undefined {
  const own = readShown(files, ASSESSMENT_FILE);
  const isHeldOut = own?.domains.some(({ part }) => part === "held out");
  return (own && !isHeldOut && readShown(files, ESTIMATE_FILE)) || own;
}

/** The file may come from anybody, so it is validated. */
function readShown(files: StoredFiles, name: string): Shown | undefined {
  const parsed = jsonIn(files, name);
  if (parsed?.format !== 1) return undefined;
  const { classes, domains, mostWrong } = parsed;
  const isWhole =
    isListOf(classes, isText) &&
    isListOf(domains, ({ name, confusion }) => isText(name) && isListOf(confusion, (row) => isListOf(row, isCount))) &&
    isListOf(
      mostWrong,
      ({ path, domain, label, predicted, confidence, truth }) =>
        [path, domain, label, predicted].every(isText) && [confidence, truth].every(isShare),
    );
  return isWhole ? (parsed as unknown as Shown) : undefined;
}

const isText = (value: unknown): boolean => typeof value === "string";
const isShare = (value: unknown): boolean => typeof value === "number" && value >= 0 && value <= 1;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value);
const isListOf = (value: unknown, test: (item: Record<string, unknown>) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => item !== null && item !== undefined && test(item));

/** The real path of the folder of a run's pictures; undefined if it is not on this machine or not below a root. */
async function dataFolder(files: StoredFiles, roots: readonly string[]): Promise<string | undefined> {
  const { root: named, data, domains } = jsonIn(files, SETTINGS_FILE) ?? {};
  const given = named ?? data;
  if (typeof given !== "string" || given === "") return undefined;
  try {
    const place = realpathSync(resolve(given));
    if (place === sep) return undefined; // the root folder of the disk is not a dataset
    const folder = statSync(place).isFile() ? dirname(place) : place;
    if (!roots.some((root) => liesIn(root, folder))) return undefined;
    if (folder !== place) return folder; // of a manifest
    // A benchmark may be some levels below the given folder.
    const wanted = isListOf(domains, isText) ? (domains as string[]).map((name) => ({ name })) : [];
    const [[found]] = await findDomainFolders(place, [wanted]);
    const real = found ? realpathSync(found.path) : place; // a link in the folder may lead out of it
    return roots.some((root) => liesIn(root, real)) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The real path of a picture, if it is in the folder of its dataset. */
function pictureIn(place: string | undefined, path: string): string | undefined {
  if (place === undefined) return undefined;
  try {
    const real = realpathSync(resolve(place, path));
    return liesIn(place, real) ? real : undefined;
  } catch {
    return undefined;
  }
}
