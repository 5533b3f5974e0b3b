/** `nudge train --against RUN`: compares the new model with an earlier one on the pictures that neither was trained on. */

import { existsSync } from "node:fs";
import type { PictureDataset } from "../data/dataset.js";
import { countOf } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import { type BeforeAndAfter, compareWithEarlier } from "../own-data/before-and-after.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import { againstText } from "./eval-against.js";

/** Rejects an earlier model that does not exist, before anything is trained. */
export function checkEarlier(earlier: string | undefined): void {
  if (earlier !== undefined && !existsSync(earlier))
    throw new UsageError(`--against ${earlier}: no such run or model file`);
}

/** The comparison; undefined if none is requested or possible. */
export async function compared(
  earlier: string | undefined,
  { path, plan, reporter }: { path: string; plan: Plan; reporter: Reporter },
): Promise<BeforeAndAfter | undefined> {
  if (earlier === undefined) return undefined;
  if (plan.dataset.kind !== "pictures") throw new UsageError("--against: expected pictures of your own to compare on");
  return compareWithEarlier(path, earlier, plan.dataset as PictureDataset, {
    device: plan.settings.device,
    onProgress: (done, of) => reporter.progress?.(`predicting with the earlier model: ${done} of ${of}`),
  });
}

/** The comparison as text. */
export async function comparedText(found: BeforeAndAfter | undefined): Promise<string> {
  if (!found) return "";
  const notes = [
    ...(found.skipped > 0
      ? [`note: ${countOf(found.skipped, "validation picture")} excluded, which the earlier model was trained on`]
      : []),
    ...(found.unknown
      ? [
          "note: it is not known which pictures the earlier model was trained on; if some are among these, it looks better than it is",
        ]
      : []),
  ];
  return `\nBefore and after, on pictures that neither model was trained on\n${await againstText({ ...found, trainedOn: null })}${notes.map((note) => `${note}\n`).join("")}`;
}
