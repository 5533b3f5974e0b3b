import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { makePlan } from "./make-plan.js";

test("a plan says whose protocol its runs are in; a probe's is its own", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-make-plan-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await makePictureFolder(folder, { perCell: 5, domains: ["shop", "street"] });
  const wordsOf = async (given: object): Promise<readonly string[]> =>
    (await makePlan({ given: { data: folder, backbone: "small-cnn", trials: 1, algorithms: "ERM", ...given } })).words
      .protocol;
  expect(await wordsOf({})).toEqual([expect.stringMatching(/^DomainBed's: 5001 steps, .*\.$/)]);
  expect(await wordsOf({ protocol: "swad" })).toEqual([expect.stringMatching(/^SWAD's: 5001 steps /)]);
  for (const probe of [true, "true"])
    expect(await wordsOf({ probe })).toEqual([expect.stringMatching(/^A probe's: 201 steps on features/)]);
  await expect(wordsOf({ probe: true, algorithms: "all" })).rejects.toThrow("any but MixStyle, ARM, MIRO");
});
