/** `predict --explain`: writes pictures with a heat map over each. */

import { writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import sharp from "sharp";
import type { NamedPicture } from "../data/named-pictures.js";
import { heatPicture, heatUri } from "../drawing/heat-picture.js";
import { DataError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { hasHeatMaps, heatMapOf } from "../model/heat-map.js";
import type { Model } from "../model/index.js";

export class ExplainedPictures {
  /** The number of files written. */
  count = 0;
  private readonly names = new Set<string>();

  constructor(
    private readonly model: Model,
    private readonly folder: string,
  ) {
    if (!hasHeatMaps(model))
      throw new UsageError(
        `--explain: the model's ${model.about.backbone} has no spatial feature map, so a heat map cannot be computed`,
      );
    makeFolder(folder);
  }

  /** Writes one picture and returns its heat map for a page. */
  async add({ name, input }: NamedPicture, label: string): Promise<string | undefined> {
    const bytes = typeof input === "string" ? await readBytesLater(input, { most: MOST_PICTURE_BYTES }) : input;
    const picture = await this.model.decode(bytes);
    const heat = heatMapOf(this.model, picture, this.model.classes.indexOf(label));
    if (!heat) return undefined;
    const { width, height, pixels } = picture;
    const place = join(this.folder, this.nameFor(name));
    const over = await heatPicture(heat, { width, height });
    const drawn = await sharp(pixels, { raw: { width, height, channels: 3 } })
      .composite([{ input: over }])
      .png()
      .toBuffer();
    await writeFile(place, drawn).catch((cause: Error) => {
      throw new DataError(`--explain: ${place} could not be written: ${cause.message}`, { cause });
    });
    this.count++;
    return heatUri(heat, { width, height });
  }

  /** A unique file name for each picture of this command. */
  private nameFor(path: string): string {
    const plain = basename(path, extname(path));
    let name = `${plain}.png`;
    for (let n = 2; this.names.has(name); n++) name = `${plain}-${n}.png`;
    this.names.add(name);
    return name;
  }
}
