/** What a person decided about labels, as a manifest that `nudge train` reads: every picture, but those that were removed. */

import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import type { PictureDataset } from "../data/dataset.js";
import { readManifest } from "../data/manifest.js";
import { replaceFile } from "../files/replace-file.js";
import { csvField } from "../report/csv.js";

/** The class that a picture is of after all, or null for one that is to be left out. */
export type Mark = string | null;

export class ReviewedManifest {
  /** By path from the dataset's root; pictures that are not here keep their labels. */
  readonly marks = new Map<string, Mark>();

  /** What an earlier review decided is read back from the manifest. */
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

  /** Takes a decision; the label that a picture has means that it is right. */
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
    const text = [["path", "label", "domain"], ...rows].map((row) => `${row.map(csvField).join(",")}\n`).join("");
    replaceFile(this.path, (write) => write(Buffer.from(text, "utf8")));
  }

  private *pictures(): Generator<{ file: string; label: string; domain: string }> {
    for (const { name: domain, files, labels } of this.dataset.domains)
      for (const [i, file] of files.entries()) yield { file, label: this.dataset.classes[labels[i]], domain };
  }
}
