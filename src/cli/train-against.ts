/** `nudge train --against RUN`: compares the new model with an earlier one on the pictures that neither was trained on. */

import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import type { PictureDataset } from "../data/dataset.js";
import { countOf, listNames } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import { modelFile } from "../model/load-model.js";
import { type BeforeAndAfter, compareWithEarlier } from "../own-data/before-and-after.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import { againstText } from "./eval-against.js";

/** The earlier model, before anything is trained: it must exist, and a link such as `latest` may point to the new run later. */
export function earlierModel(given: string): string {
  if (!existsSync(given)) throw new UsageError(`--against ${given}: no such run or model file`);
  modelFile(given);
  const path = realpathSync(given);
  if (path === resolve(given)) return given;
  const inside = relative(process.cwd(), path);
  return inside.startsWith("..") || isAbsolute(inside) ? path : inside;
}

const isItself = (earlier: string | undefined, path: string): boolean => {
  const own = join(path, "model.safetensors");
  return earlier !== undefined && existsSync(own) && realpathSync(modelFile(earlier)) === realpathSync(own);
};

/** Rejects a comparison of a run with itself. `path` is the folder of the run. */
export function checkOther(earlier: string | undefined, path: string): void {
  if (isItself(earlier, path))
    throw new UsageError(
      `--against ${earlier}: these settings and pictures give the same run, so there is nothing to compare; choose another run`,
    );
}

/** The comparison; undefined if none is requested or possible. */
export async function compared(
  earlier: string | undefined,
  { path, plan, reporter }: { path: string; plan: Plan; reporter: Reporter },
): Promise<BeforeAndAfter | undefined> {
  if (earlier === undefined) return undefined;
  if (isItself(earlier, path)) {
    reporter.line(`note: --against ${earlier}: this is the chosen model itself, so there is nothing to compare`);
    return undefined;
  }
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
    ...(found.ofNewClasses > 0
      ? [
          `note: the earlier model does not have ${found.newClasses.length === 1 ? "the class" : "the classes"} ${listNames(found.newClasses)}, so ${countOf(found.ofNewClasses, "picture counts", "pictures count")} as wrong for it`,
        ]
      : []),
    ...(found.formerClasses.length > 0
      ? [`note: only the earlier model has ${listNames(found.formerClasses)}, so its task is more difficult`]
      : []),
    ...(found.unknown
      ? [
          "note: it is not known which pictures the earlier model was trained on; if some are among these, it looks better than it is",
        ]
      : []),
  ];
  return `\nBefore and after, on pictures that neither model was trained on\n${await againstText({ ...found, trainedOn: null })}${notes.map((note) => `${note}\n`).join("")}`;
}
