import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { catchPrinted } from "../../tests/support/printed.js";
import { resolve } from "../settings/resolve.js";
import { readTrainSettings } from "../training/run-folder.js";
import { main } from "./main.js";

const out = mkdtempSync(join(tmpdir(), "nudge-retrain-"));
afterAll(() => rmSync(out, { recursive: true, force: true }));

const printed = catchPrinted();

const TRAIN = [
  ...["train", "--data", "shapes", "--test-domain", "filled", "--steps", "9", "--eval-every", "2", "--batch-size", "4"],
  ...["data.perCell=4", "data.size=16", "--threads", "1", "--quiet", "--out", out],
];

const runs = (): string[] => readdirSync(out).filter((name) => name !== "latest");

test("a run is trained again on all pictures of its training domains, as long as validation chose", async () => {
  expect(await main(TRAIN)).toBe(0);
  const [first] = runs();
  const { best } = JSON.parse(readFileSync(join(out, first, "done"), "utf8"));
  expect(await main(["train", "--retrain", join(out, first), "--out", out, "--quiet"])).toBe(0);
  const again = join(out, runs().find((name) => name !== first)!);
  const settings = readTrainSettings(again);
  expect(settings).toMatchObject({ steps: best.step + 1, evaluateEvery: best.step + 1, trainOnAll: true });
  expect(JSON.parse(readFileSync(join(again, "done"), "utf8"))).toMatchObject({
    step: best.step,
    best: { step: best.step },
  });
  const [before, after] = await Promise.all(
    [readTrainSettings(join(out, first)), settings].map((each) => resolve(each.request)),
  );
  for (const [name, { in: inside, out: held }] of before.split) {
    const now = after.split.get(name)!;
    expect(now.in.length, name).toBe(inside.length + (name === "filled" ? 0 : held.length));
    expect(now.out).toEqual(held);
  }
}, 60_000);

test("a run that cannot be trained again is refused", async () => {
  expect(await main(["train", "--retrain", out])).toBe(2);
  const [first] = runs();
  expect(await main(["train", "--retrain", join(out, first), "lr=1"])).toBe(2);
  expect(printed.stderr).toContain("--retrain uses the settings of the run");
});
