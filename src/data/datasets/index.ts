/** The list of datasets. To add a dataset, add a file and a line here. */

import { unknownName } from "../../closest-name.js";
import { UsageError } from "../../errors.js";
import type { DatasetDefinition } from "../dataset.js";
import { plainName } from "../discover.js";
import { camelyon17 } from "./camelyon17.js";
import { coloredMnist } from "./colored-mnist.js";
import { digitsDg } from "./digits-dg.js";
import { domainNet } from "./domain-net.js";
import { emoji } from "./emoji.js";
import { fmow } from "./fmow.js";
import type { FolderBenchmark } from "./folder-benchmark.js";
import { generatedShapes } from "./generated-shapes.js";
import { imageFolder } from "./image-folder.js";
import { manifest } from "./manifest.js";
import { nico } from "./nico.js";
import { office31 } from "./office-31.js";
import { officeHome } from "./office-home.js";
import { pacs } from "./pacs.js";
import { rotatedMnist } from "./rotated-mnist.js";
import { spawrious } from "./spawrious.js";
import { sviro } from "./sviro.js";
import type { TableBenchmark } from "./table-benchmark.js";
import { terraIncognita } from "./terra-incognita.js";
import { toy2d, toyRd } from "./toy.js";
import { vlcs } from "./vlcs.js";

/** The benchmarks in folders domain/class/picture. */
export const folderBenchmarks: readonly FolderBenchmark[] = [
  pacs,
  vlcs,
  officeHome,
  terraIncognita,
  domainNet,
  sviro,
  office31,
  nico,
  digitsDg,
];

/** The benchmarks whose pictures are listed in a table. */
export const tableBenchmarks: readonly TableBenchmark[] = [camelyon17, fmow];

/** Datasets by id. */
export const datasets: Readonly<Record<string, DatasetDefinition>> = Object.fromEntries(
  [
    ...folderBenchmarks,
    ...tableBenchmarks,
    ...spawrious,
    emoji,
    rotatedMnist,
    coloredMnist,
    imageFolder,
    manifest,
    generatedShapes,
    toy2d,
    toyRd,
  ].map((definition) => [definition.id, definition]),
);

/** The dataset with this name in any spelling (`OfficeHome`, `office_home`); undefined if there is none. */
export function findDataset(name: string): DatasetDefinition | undefined {
  if (Object.hasOwn(datasets, name)) return datasets[name];
  if (!/^[\w -]+$/.test(name)) return undefined; // a path, such as ./pacs
  return Object.values(datasets).find(({ id }) => plainName(id) === plainName(name));
}

/** The dataset with this name. For an unknown name, the error suggests the closest one. */
export function datasetNamed(name: string): DatasetDefinition {
  const found = findDataset(name);
  if (!found) throw new UsageError(unknownName("dataset", name, Object.keys(datasets)));
  return found;
}
