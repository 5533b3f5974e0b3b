/**
 * A fingerprint of pictures of one's own, which no published counts pin down: it changes when one is added, taken away,
 * replaced or given another label, so that the runs from before and after are two. It is of labels and file sizes in order, not of
 * names: the folder may be moved, and files may be renamed where that leaves their order.
 */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { PictureDataset } from "./dataset.js";

/** 16 hexadecimal digits of it. */
export function picturesHash({ root, domains }: Pick<PictureDataset, "root" | "domains">): string {
  const hash = createHash("sha256");
  for (const { name, files, labels } of domains) {
    hash.update(`${JSON.stringify(name)}\n`);
    const size = (file: string): number => statSync(resolve(root, file), { throwIfNoEntry: false })?.size ?? -1;
    hash.update(files.map((file, i) => `${labels[i]} ${size(file)}\n`).join(""));
  }
  return hash.digest("hex").slice(0, 16);
}
