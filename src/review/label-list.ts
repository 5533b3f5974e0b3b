/** The labels of picked pictures, as a manifest that `nudge adapt`, `nudge eval` and `nudge train` read: the labelled ones only. */

import { existsSync } from "node:fs";
import { readManifest } from "../data/manifest.js";
import { csvLine } from "../data/manifest-csv.js";
import { replaceFile } from "../files/replace-file.js";
import type { Mark } from "./reviewed-manifest.js";

export class LabelList {
  /** Labels by path, in the folder of the manifest. */
  readonly marks = new Map<string, Mark>();

  /** Labels that were given before are read from the manifest. */
  constructor(
    readonly path: string,
    /** The name of the site, which is the domain of its pictures. */
    private readonly site: string,
  ) {
    if (existsSync(path)) for (const { path: file, label } of readManifest(path).entries) this.marks.set(file, label);
  }

  /** Records a label; null removes it. */
  mark(file: string, _: string, mark: Mark): void {
    if (mark === null) this.marks.delete(file);
    else this.marks.set(file, mark);
    this.write();
  }

  write(): void {
    const rows = [...this.marks].map(([file, label]) => [file, label ?? "", this.site]);
    const text = [["path", "label", "domain"], ...rows].map(csvLine).join("");
    replaceFile(this.path, (write) => write(Buffer.from(text, "utf8")));
  }
}
