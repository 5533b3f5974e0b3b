/** Creates a soup or an ensemble of a sweep in this process, after its runs are done. */

import { replaceFile } from "../files/replace-file.js";
import { formatRecord } from "../records/record.js";
import { DONE_FILE, SETTINGS_FILE } from "../records/run.js";
import type { SettingsMemo } from "../settings/memo.js";
import { combineRuns } from "../training/combine-runs.js";
import { RunFolder } from "../training/run-folder.js";
import type { Combination } from "./combinations.js";
import { sweepPaths } from "./sweep-folder.js";

export interface CombinationOptions {
  readonly sweep: string;
  readonly device: string;
  readonly threads: number;
  readonly memo: SettingsMemo;
  readonly shouldStop: () => boolean;
}

/** Creates a combination unless another process is working on it; returns whether it did. A stopped one starts again from the beginning. */
export async function makeCombination(combination: Combination, options: CombinationOptions): Promise<boolean> {
  const { sweep, ...rest } = options;
  const { id, kind, name, members, of } = combination;
  const paths = sweepPaths(sweep);
  using folder = RunFolder.tryOwn(paths.run(name));
  if (!folder || folder.isDone) return false;
  const runs = members.map((member) => paths.run(member.name));
  const { settings, rows, taken } = await combineRuns(runs, { ...rest, kind, out: folder.file("model.safetensors") });
  folder.writeJson(SETTINGS_FILE, {
    ...settings,
    hash: id,
    hparamsSeed: 0,
    combination: { kind, members: members.map((member) => member.id), of, taken },
  });
  folder.checkOwner();
  const lines = rows.map(formatRecord).join("");
  replaceFile(folder.records, (write) => write(Buffer.from(lines, "utf8")));
  folder.writeJson(DONE_FILE, { step: settings.steps - 1, best: null, hash: id });
  return true;
}
