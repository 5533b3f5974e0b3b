/** The output of `nudge bench data`. */

import type { DataBench } from "../bench/data.js";

/** The benchmark as text: one line for pictures in memory and one for pictures that are decoded each time. */
export function dataText(result: DataBench): string {
  const {
    pictures,
    distinct,
    seconds,
    fileBytes,
    pixelBytes,
    backbone,
    device,
    precision,
    batch,
    steps,
    inMemory,
    decoded,
    ratio,
  } = result;
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e9 ? 3 : 1)} GB`;
  const line = (title: string, ms: number, times: number): string =>
    `  ${title.padEnd(34)}${ms.toFixed(1).padStart(10)} ms${times.toFixed(2).padStart(8)}×`;
  const kilobytes = (fileBytes / pictures / 1000).toFixed(0);
  return [
    `Training ${backbone} in ${precision} on ${pictures} generated JPEGs (${gigabytes(fileBytes)}, ${kilobytes} kB each; ${gigabytes(pixelBytes)} as pixels), ${device}`,
    ...(distinct < pictures
      ? [`${distinct} of the files are different; the others are links to them, so the disk is not measured`]
      : []),
    `Writing the files took ${seconds.generating.toFixed(0)} s, listing and splitting them ${seconds.planning.toFixed(0)} s`,
    `One step on ${batch} pictures: mean of ${steps} steps`,
    line("pictures in memory", inMemory.stepMs, 1),
    line("decoded from files each time", decoded.stepMs, ratio),
    `  ${result.decoders} threads decode; ${(batch / (decoded.stepMs / 1000)).toFixed(0)} pictures per second reach the network`,
    ...decoded.notes.map((note) => `  ${note}`),
  ].join("\n");
}
