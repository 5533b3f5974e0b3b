/** The decisions about labels, as a manifest that `nudge train` reads: every picture except those that were removed. */

import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import type { PictureDataset } from "../data/dataset.js";
import { readManifest } from "../data/manifest.js";
import { csvLine } from "../data/manifest-csv.js";
import { replaceFile } from "../files/replace-file.js";

/** The corrected class of a picture, or null for one that is removed. */
export type Mark = string | null;

export class ReviewedManifest {
  /** Decisions by path relative to the dataset's root; pictures that are not listed keep their labels. */
  readonly marks = new Map<string, Mark>();

  /** The decisions of an earlier review are read from the manifest. */
  constructor(
    readonly path: string,
    private readonly dataset: PictureDataset,
  ) {
    if (!existsSync(path)) return;
    const kept = new Map(
      readManifest(path).entries.map(({ path: file, label }) => [resolve(dirname(path), file), label] as const),
    );
    for (const { file, label } of this.pictures()) {
      const now = kept.get(resolve(dataset.root, file));
      if (now !== label) this.marks.set(file, now ?? null);
    }
  }

  /** Records a decision. Choosing the current label confirms it. */
  mark(file: string, label: string, mark: Mark): void {
    if (mark === label) this.marks.delete(file);
    else this.marks.set(file, mark);
    this.write();
  }

  /** Writes the manifest. */
  write(): void {
    const rows = [...this.pictures()].flatMap(({ file, label, domain }) => {
      const mark = this.marks.has(file) ? this.marks.get(file)! : label;
      const place = relative(dirname(this.path), resolve(this.dataset.root, file)).split(sep).join("/");
      return mark === null ? [] : [[place, mark, domain]];
    });
    const text = [["path", "label", "domain"], ...rows].map(csvLine).join("");
    replaceFile(this.path, (write) => write(Buffer.from(text, "utf8")));
  }

  private *pictures(): Generator<{ file: string; label: string; domain: string }> {
    for (const { name: domain, files, labels } of this.dataset.domains)
      for (const [i, file] of files.entries()) yield { file, label: this.dataset.classes[labels[i]], domain };
  }
}
