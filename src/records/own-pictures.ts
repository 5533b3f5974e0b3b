/**
 * The names of datasets that are the user's own pictures. For the program all folders are one dataset, `image-folder`;
 * for the user each folder is a different one, identified by its name.
 */

import { basename } from "node:path";
import { FOLDER, isOwnDataset } from "../data/own-dataset.js";
import type { RunSettings } from "./run.js";

export { isOwnDataset };

/** The dataset of a run in tables: its id, or for own pictures the name of the folder with a slash, which no id has. */
export function datasetIn(settings: RunSettings): string {
  const { dataset } = settings;
  const { data } = settings as { readonly data?: unknown };
  if (!isOwnDataset(dataset) || typeof data !== "string") return dataset;
  const name = basename(data.replaceAll("\\", "/"));
  if (name === "" || name === "." || name === "..") return dataset;
  return dataset === FOLDER ? `${name}/` : name;
}

/** The name of a dataset without that slash: `clinics/` is the folder `clinics`. */
export const withoutSlash = (dataset: string): string => dataset.replace(/\/(?=$| \()/, "");
