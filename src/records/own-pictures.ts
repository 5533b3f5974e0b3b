/**
 * The names of datasets that are somebody's own pictures. To the program all folders are one dataset, `image-folder`; to the
 * person who trains on them each is another, known by its name.
 */

import { basename } from "node:path";
import { FOLDER, isOwnDataset } from "../data/own-dataset.js";
import type { RunSettings } from "./run.js";

export { isOwnDataset };

/** The dataset of a run as tables tell datasets apart: its id, or of own pictures the folder's name, with a slash that no id has. */
export function datasetIn(settings: RunSettings): string {
  const { dataset } = settings;
  const { data } = settings as { readonly data?: unknown };
  if (!isOwnDataset(dataset) || typeof data !== "string") return dataset;
  const name = basename(data.replaceAll("\\", "/"));
  if (name === "" || name === "." || name === "..") return dataset;
  return dataset === FOLDER ? `${name}/` : name;
}

/** A dataset's name without that slash: `clinics/` is the folder `clinics`. */
export const withoutSlash = (dataset: string): string => dataset.replace(/\/(?=$| \()/, "");
