/** The files that earlier versions wrote (make.mjs) are read by this one, for ever: models, checkpoints, runs, sweeps, packs and caches. */

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { readRecords } from "../../src/records/store.js";
import { readPlan } from "../../src/sweep/sweep-folder.js";
import { catchPrinted } from "../support/printed.js";

const printed = catchPrinted();
const folder = mkdtempSync(join(tmpdir(), "nudge-released-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const versions = readdirSync(import.meta.dirname).filter((name) => /^\d/.test(name));
const pictures = join(import.meta.dirname, "pictures");

describe.each(versions)("files of version %s", (version) => {
  const of = (name: string): string => join(import.meta.dirname, version, name);
  const copy = (name: string): string => {
    const to = join(folder, version, name);
    cpSync(of(name), to, { recursive: true });
    return to;
  };
  const run = async (words: string): Promise<void> => {
    expect(await main(words.split(" ")), printed.stderr).toBe(0);
  };

  test("a model predicts", async () => {
    await run(`predict ${of("done-run/model.safetensors")} ${pictures} --json`);
    expect(printed.stdout.trim().split("\n")).toHaveLength(16);
  });

  test("a stopped run resumes, and ends as that version ended it", async () => {
    const stopped = copy("stopped-run");
    await run(`train --resume ${stopped} --quiet`);
    const [now, then] = [stopped, of("done-run")].map((path) => readRecords(join(path, "records.jsonl")));
    expect(now.notes).toEqual([]);
    const named = ({ value, ...rest }: { value: number }): object => rest;
    expect(now.records.map(named)).toEqual(then.records.map(named));
    // Other processors sum in another order; accuracies of a few pictures may then differ by one of them.
    const close = now.records.filter(({ value }, i) => Math.abs(value - then.records[i].value) < 1e-3);
    expect(close.length / now.records.length).toBeGreaterThan(0.9);
    const [model, before] = [stopped, of("done-run")].map((path) => {
      using file = openWeights(join(path, "model.safetensors"));
      return [...file.tensors].map(([name, { dtype, shape }]) => [name, dtype, shape]);
    });
    expect(model).toEqual(before);
  });

  test("a finished run is reported and not trained again", async () => {
    const done = copy("done-run");
    await run(`train --resume ${done} --quiet`);
    await run(`report ${done} --json`);
    expect(printed.stdout).toContain("SWAD");
  });

  test("a sweep is recognized as finished and reported, and so are its packed runs", async () => {
    const sweep = copy("sweep");
    expect(readPlan(sweep)).toHaveLength(2);
    await run(`sweep run ${sweep}`);
    printed.stdout = "";
    await run(`report ${sweep} --format csv`);
    const numbers = (place: string): string[] =>
      printed.stdout
        .replaceAll(place, "")
        .split("\n")
        .filter((line) => !line.includes("nudge sweep plan"));
    const table = numbers(sweep);
    expect(table.filter((line) => line.includes(",ERM,own,textured,0.")).length, table.join("\n")).toBeGreaterThan(0);
    if (!existsSync(of("sweep.nudge"))) return;
    printed.stdout = "";
    await run(`report ${of("sweep.nudge")} --format csv`);
    expect(numbers(of("sweep.nudge"))).toEqual(table);
  });

  test("a cache is used if possible, and never misread", async () => {
    const cache = copy("cache");
    const before = new Map(readdirSync(cache).map((name) => [name, readFileSync(join(cache, name))]));
    const data = join(folder, version, "pictures");
    cpSync(pictures, data, { recursive: true });
    const tiny = "--no-pretrained --backbone toy-cnn --steps 2 --batch-size 2 --threads 1 --quiet";
    await run(`train --data ${data} --test-domain b ${tiny} --out ${join(folder, version, "own")} cache=${cache}`);
    for (const [name, bytes] of before) expect(readFileSync(join(cache, name)).equals(bytes), name).toBe(true);
    const blocks = readdirSync(cache).filter((name) => name.startsWith("blocks-"));
    const isStore = [...before.keys()].some((name) => name.startsWith("blocks-"));
    expect(blocks).toHaveLength(1); // those of the version, or where it had none, new ones
    if (isStore) expect(before.has(blocks[0])).toBe(true);
  });
});
