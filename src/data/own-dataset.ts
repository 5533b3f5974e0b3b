/** Datasets that are whatever somebody put there, not ones that others publish numbers on. */

export const FOLDER = "image-folder";
export const LIST = "manifest";

/** Whether a dataset, by its id, is somebody's own pictures. */
export const isOwnDataset = (id: string): boolean => id === FOLDER || id === LIST;
