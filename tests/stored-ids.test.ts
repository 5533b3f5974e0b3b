/** The ids of all kept runs, computed again from their stored settings. Runs and packs stay valid only while they are equal. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PackFile } from "../src/pack/pack-file.js";
import { idOf } from "../src/settings/edition.js";
import type { TrainSettings } from "../src/settings/settings.js";

const results = join(import.meta.dirname, "../results");
const packs = readdirSync(results).filter((name) => name.endsWith(".nudge"));

/** The id in the folder name of a run, and the one that its settings give now. */
function idsIn(pack: string): { stored: string; computed: string }[] {
  return Array.from(new PackFile(join(results, pack)).runs()).flatMap((files) => {
    const settings = JSON.parse(files.text("settings.json")!) as TrainSettings;
    if (settings.combination) return []; // named by the runs that it combines
    expect(files.folder.split("/").at(-1)!.startsWith(settings.hash)).toBe(true);
    return [{ stored: settings.hash, computed: idOf(settings) }];
  });
}

test("the ids of all 1,498 kept runs that are no combination are those of their settings", () => {
  const ids = packs.flatMap(idsIn);
  expect(ids).toHaveLength(1498);
  expect(ids.filter(({ stored, computed }) => stored !== computed)).toEqual([]);
});
