import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { growPlan } from "./grow-plan.js";
import { launch } from "./launch.js";
import { defineLauncher } from "./launchers/index.js";
import { makePlan } from "./make-plan.js";

/** A launcher that reports all runs as submitted and starts nothing. */
const idle = defineLauncher({ id: "idle", about: "", options: {}, launch: async () => "handed over" as const });

test("a note says that the first of many probes computes the features for all", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-launch-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const data = join(folder, "pictures");
  await makePictureFolder(data, { perCell: 5, domains: ["shop", "street"] });
  const linesOf = async (probe: boolean): Promise<string[]> => {
    const sweep = join(folder, `sweep-${probe}`);
    const { words, runs } = await makePlan({ given: { data, backbone: "small-cnn", trials: 1, probe } });
    await growPlan(sweep, words, runs);
    const lines: string[] = [];
    await launch({
      ...{ folder: sweep, launcher: idle, options: {}, program: ["nudge"], most: null, stay: true, stop: { level: 0 } },
      rules: { retries: 0, maxFailures: null, only: null, stopHopeless: false },
      say: (line) => void lines.push(line),
      print: () => {},
    });
    return lines;
  };
  expect(await linesOf(true)).toEqual([
    expect.stringMatching(/^2 runs in .*, 0 done$/),
    expect.stringMatching(/^probes share the features of the pictures: the first run computes/),
  ]);
  expect(await linesOf(false)).toHaveLength(1);
});
