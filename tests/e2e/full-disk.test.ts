/** On a full disk training and reporting fail with words and lose nothing; with room again, they go on. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { makePictureFolder } from "../support/made-pictures.js";
import { catchPrinted } from "../support/printed.js";
import { writePacsSweep } from "../support/report-runs.js";
import { mountSmallDisk } from "../support/small-disk.js";

const printed = catchPrinted();
const disk = mountSmallDisk();
const plenty = mkdtempSync(join(tmpdir(), "nudge-plenty-"));
const calm = join(plenty, "calm");
afterAll(() => rmSync(plenty, { recursive: true, force: true }));

const TRAIN = [
  "train --data shapes --test-domain textured --algorithm SWAD-NU --steps 9 --eval-every 2 --batch-size 4 --threads 1 --quiet",
  "data.perCell=3 data.size=16 warmup=2 swad.converge=2 keepCheckpoint=true",
]
  .join(" ")
  .split(" ");

const runIn = (out: string): string => join(out, readdirSync(out)[0]);
const filesOf = (folder: string): string[] =>
  (readdirSync(folder, { recursive: true }) as string[]).filter((name) => statSync(join(folder, name)).isFile()).sort();
const ofItsTime = /^(lock|events)\/|^(environment\.json|log\.txt|timing\.jsonl)$/;
const contentOf = (folder: string): Map<string, Buffer> =>
  new Map(filesOf(folder).map((name) => [name, readFileSync(join(folder, name))]));

let size = 0;
beforeAll(async () => {
  if (!disk) return;
  expect(await main([...TRAIN, "--out", calm])).toBe(0);
  const run = runIn(calm);
  size = filesOf(run).reduce((sum, name) => sum + statSync(join(run, name)).size, 0);
});

/** A file takes at least a block, so with few of them each small file in turn is the one that finds no room. */
const ROOMS = [
  ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((blocks) => ({ room: `${blocks} blocks`, bytes: () => blocks * 4096 })),
  ...[0.15, 0.5, 0.9].map((share) => ({ room: `${share} of the run`, bytes: () => share * size })),
];

test.skipIf(!disk).each(ROOMS)(
  "training with room for $room fails with a clear error, and resumes when there is room (needs root)",
  async ({ room, bytes }) => {
    const out = join(disk!.folder, `room for ${room}`);
    disk!.leave(bytes());
    expect(await main([...TRAIN, "--out", out])).toBe(1);
    expect(printed.stderr).toMatch(/^nudge: .*ENOSPC: no space left on device/);
    expect(printed.stderr.split("\n")).toHaveLength(2); // words, and no stack
    const begun = existsSync(out) && existsSync(join(runIn(out), "settings.json"));
    if (begun)
      expect(printed.stderr).toContain(`Free some disk space, then resume with: nudge train --resume ${runIn(out)}\n`);

    disk!.makeRoom();
    expect(await main(begun ? ["train", "--resume", runIn(out), "--quiet"] : [...TRAIN, "--out", out])).toBe(0);
    const determined = (run: string): string[] => filesOf(run).filter((name) => !ofItsTime.test(name));
    expect(determined(runIn(out))).toEqual(determined(runIn(calm)));
    for (const name of determined(runIn(out)))
      expect(readFileSync(join(runIn(out), name)).equals(readFileSync(join(runIn(calm), name))), name).toBe(true);
    rmSync(out, { recursive: true });
  },
);

test.skipIf(!disk)(
  "of several runs, all are resumed by the same command, which the error names (needs root)",
  async () => {
    const { root } = await makePictureFolder(join(plenty, "pictures"), { perCell: 5, domains: ["shop", "street"] });
    const out = join(disk!.folder, "several");
    const method = "--backbone toy-cnn --no-pretrained --steps 2 --batch-size 2 --threads 1 --quiet cache=false".split(
      " ",
    );
    const command = ["train", "--data", root, ...method, "--out", out];
    disk!.leave(6 * 4096);
    expect(await main(command)).toBe(1);
    expect(printed.stderr).toContain("Free some disk space, then resume with: the same command\n");
    disk!.makeRoom();
    rmSync(out, { recursive: true });
  },
);

test.skipIf(!disk)("a run that cannot resume on a full disk is unchanged (needs root)", async () => {
  const out = join(disk!.folder, "kept");
  disk!.leave(0.6 * size);
  expect(await main([...TRAIN, "--out", out])).toBe(1);
  disk!.leave(0);
  const kept = contentOf(runIn(out));
  const checkpoint = kept.get("checkpoint/last.safetensors");
  expect(checkpoint?.length).toBeGreaterThan(0);
  expect(await main(["train", "--resume", runIn(out), "--quiet"])).toBe(1);
  for (const name of ["settings.json", "records.jsonl", "checkpoint/last.safetensors", "checkpoint/best.safetensors"])
    expect(readFileSync(join(runIn(out), name)).equals(kept.get(name)!), name).toBe(true);
  disk!.makeRoom();
  rmSync(out, { recursive: true });
});

test.skipIf(!disk)(
  "a report on a full disk fails with a clear error and keeps the earlier one (needs root)",
  async () => {
    const runs = join(plenty, "sweep");
    writePacsSweep(runs);
    const out = join(disk!.folder, "report");
    expect(await main(["report", runs, "--out", out])).toBe(0);
    const before = contentOf(out);
    disk!.leave(0);
    expect(await main(["report", runs, "--out", out, "--claims"])).toBe(1);
    expect(printed.stderr).toMatch(/^nudge: --out .*: nothing can be written .*ENOSPC: no space left on device.*\n$/);
    expect(contentOf(out)).toEqual(before);
    disk!.makeRoom();
    expect(await main(["report", runs, "--out", out, "--claims"])).toBe(0);
    expect(readFileSync(join(out, "report.md"), "utf8")).toContain("## The paper's claims");
  },
);
