/** Distinguishes your own pictures from published datasets. */

export const FOLDER = "image-folder";
export const LIST = "manifest";

/** Whether a dataset, by its id, consists of the user's own pictures. */
export const isOwnDataset = (id: string): boolean => id === FOLDER || id === LIST;
