/**
 * Creates TerraIncognita's folders from Caltech Camera Traps as published by LILA BC: `eccv_18_all_images_sm/` with all
 * pictures, and `eccv_18_annotation_files/` with JSON lists of images (id, file_name, location), annotations (image_id,
 * category_id) and categories. A picture goes to `location_<location>/<category>/`, or to several if it has several
 * annotations.
 */
import { copyFileSync, existsSync, linkSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { FolderBenchmark } from "../data/datasets/folder-benchmark.js";
import { countOf, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";

const IMAGES = "eccv_18_all_images_sm";
const ANNOTATIONS = "eccv_18_annotation_files";

interface Annotations {
  readonly images: readonly { readonly id: string; readonly file_name: string; readonly location: string | number }[];
  readonly annotations: readonly { readonly image_id: string; readonly category_id: number }[];
  readonly categories: readonly { readonly id: number; readonly name: string }[];
}

/** Whether a folder has the two parts. */
export const hasCameraTraps = (folder: string): boolean =>
  [IMAGES, ANNOTATIONS].every((name) => existsSync(join(folder, name)));

/** Sorts the pictures of the benchmark's locations and classes into folders. Returns notes as text. */
export function arrangeCameraTraps(from: string, to: string, { published }: FolderBenchmark): string[] {
  const classes = published.classes as readonly string[];
  const locations = new Set(published.domains.map(({ name }) => name));
  const places = new Map<string, { file: string; domain: string }>();
  const placed = new Set<string>();
  let missing = 0;
  const lists = readdirSync(join(from, ANNOTATIONS))
    .filter((name) => name.endsWith(".json") && !name.startsWith("."))
    .sort()
    .map((name) => readList(join(from, ANNOTATIONS, name)));
  const categories = new Map(lists.flatMap((list) => list.categories.map(({ id, name }) => [id, name] as const)));
  for (const { images } of lists)
    for (const { id, file_name, location } of images)
      places.set(String(id), { file: basename(String(file_name)), domain: `location_${location}` });
  for (const { annotations } of lists)
    for (const { image_id, category_id } of annotations) {
      const place = places.get(String(image_id));
      const category = categories.get(category_id);
      if (!place || !category || !locations.has(place.domain) || !classes.includes(category)) continue;
      const path = join(place.domain, category, place.file);
      if (placed.has(path)) continue;
      placed.add(path);
      const source = join(from, IMAGES, place.file);
      if (!existsSync(source)) missing++;
      else put(source, join(to, path));
    }
  if (placed.size === missing)
    throw new DataError(`${showName(join(from, ANNOTATIONS))}: no annotation names a picture that is in ${IMAGES}`);
  return missing > 0
    ? [`${countOf(missing, "picture")} of the annotations ${missing === 1 ? "is" : "are"} not in the archive`]
    : [];
}

function readList(path: string): Annotations {
  try {
    const list = JSON.parse(readText(path)) as Partial<Annotations>;
    return { images: list.images ?? [], annotations: list.annotations ?? [], categories: list.categories ?? [] };
  } catch (cause) {
    throw new DataError(`annotations ${showName(path)}: could not be read (${(cause as Error).message})`, { cause });
  }
}

/** Places a picture, without a second copy if the file system allows it. */
function put(source: string, path: string): void {
  makeFolder(join(path, ".."));
  if (existsSync(path)) return;
  try {
    linkSync(source, path);
  } catch {
    copyFileSync(source, path);
  }
}
