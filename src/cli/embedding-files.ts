/** What `nudge embed` writes: the features as safetensors or CSV, and the figures. */

import { join } from "node:path";
import { projectToPlane } from "../analysis/principal-directions.js";
import { spectrum } from "../analysis/rank.js";
import { writeFigure } from "../drawing/write-figure.js";
import { writeSafetensors } from "../engine/safetensors.js";
import { scope } from "../engine/scope.js";
import { type EmbeddedDataset, matrixOf } from "../model/embed-dataset.js";
import type { ModelAbout } from "../model/index.js";
import { csvField } from "../report/csv.js";
import { mapChart, spectrumChart } from "../report/embedding-charts.js";
import { WholeFile } from "./model-options.js";

export interface WrittenEmbedding {
  readonly embedding: EmbeddedDataset;
  /** The classes of the dataset; labels are indices into them. */
  readonly classes: readonly string[];
  readonly about: ModelAbout;
}

/** The features, labels, domains and distances as safetensors, with the names in its metadata. */
export function writeFeatures(path: string, { embedding, classes, about }: WrittenEmbedding): void {
  const { pictures, features, width } = embedding;
  const domains = [...new Set(pictures.map(({ domain }) => domain))];
  const whole = (values: readonly number[]) => () => new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  const floats = (values: Float32Array) => () => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const count = [pictures.length];
  const scores = Float32Array.from(pictures, ({ distance }) => distance?.score ?? Number.NaN);
  writeSafetensors(
    path,
    [
      { name: "features", dtype: "float32", shape: [pictures.length, width], bytes: floats(features) },
      { name: "labels", dtype: "int64", shape: count, bytes: whole(pictures.map(({ label }) => label)) },
      {
        name: "domains",
        dtype: "int64",
        shape: count,
        bytes: whole(pictures.map(({ domain }) => domains.indexOf(domain))),
      },
      ...(pictures[0].distance
        ? [{ name: "distances", dtype: "float32", shape: count, bytes: floats(scores) } as const]
        : []),
    ],
    {
      classes: JSON.stringify(classes),
      domains: JSON.stringify(domains),
      names: JSON.stringify(pictures.map(({ name }) => name)),
      backbone: about.backbone,
    },
  );
}

/** One line per picture, with the features last. */
export function writeCsv(path: string, { embedding, classes }: WrittenEmbedding): void {
  const { pictures, features, width } = embedding;
  using file = new WholeFile(path);
  const row = (cells: readonly (string | number)[]): string => `${cells.map(String).map(csvField).join(",")}\r\n`;
  const numbers = Array.from({ length: width }, (_, i) => `feature_${i}`);
  file.write(row(["picture", "domain", "class", "distance", "distance_percentile", ...numbers]));
  for (const [i, { name, domain, label, distance }] of pictures.entries()) {
    const own = Array.from(features.subarray(i * width, (i + 1) * width), (value) => Number(value.toPrecision(9)));
    file.write(row([name, domain, classes[label], distance?.score ?? "", distance?.percentile ?? "", ...own]));
  }
  file.done();
}

/** Draws the spectrum, and the map coloured by domain and by class. Returns the file names. */
export async function drawFigures(folder: string, { embedding, classes, about }: WrittenEmbedding): Promise<string[]> {
  const { pictures } = embedding;
  const { plain, centred, plane } = scope(() => {
    const matrix = matrixOf(embedding);
    return { plain: spectrum(matrix), centred: spectrum(matrix, { centred: true }), plane: projectToPlane(matrix) };
  });
  const named = (domain: string): string => (about.domains.includes(domain) ? `${domain} (trained on)` : domain);
  const byDomain = pictures.map(({ domain }) => named(domain));
  const byClass = pictures.map(({ label }) => classes[label]);
  const charts = {
    spectrum: spectrumChart(plain, centred, `Singular values of the features of ${pictures.length} pictures`),
    "by-domain": mapChart({ title: "Features by domain", groups: byDomain, ...plane }),
    "by-class": mapChart({ title: "Features by class", groups: byClass, ...plane }),
  };
  const files: string[] = [];
  for (const [name, svg] of Object.entries(charts)) files.push(...(await writeFigure(svg, join(folder, name))));
  return files;
}
