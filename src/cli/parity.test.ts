import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { openWeights } from "../engine/open-weights.js";
import { scope } from "../engine/scope.js";
import { readWeights, writeWeights } from "../engine/weights.js";
import { DataError, UsageError } from "../errors.js";
import { parityCommand } from "./parity.js";

const VECTORS = fileURLToPath(new URL("../../tests/vectors/parity_formulas.safetensors", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "nudge-parity-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  process.exitCode = undefined;
});

async function printed(...args: string[]): Promise<string> {
  let text = "";
  await parityCommand((more) => {
    text += more;
  })
    .exitOverride()
    .parseAsync(args, { from: "user" });
  return text;
}

/** The vectors with some tensors or the metadata changed. */
function changed(
  name: string,
  change: (tensors: ReturnType<typeof readWeights>) => void,
  key = "nudge-parity",
): string {
  const path = join(folder, `${name}.safetensors`);
  using file = openWeights(VECTORS);
  scope(() => {
    const tensors = readWeights(VECTORS);
    change(tensors);
    writeWeights(path, tensors, { [key]: file.metadata["nudge-parity"] });
  });
  return path;
}

test("a case that agrees has a line for each recorded state, and passes", async () => {
  const text = await printed(VECTORS, "--case", "sd + nu");
  expect(text).toMatch(/^Recorded from the papers' formulas, torch 1\.13/);
  expect(text).toMatch(/^sd \+ nu {2}sd +1 +(0|\d\.\de-1\d) /m);
  expect(text).toMatch(/^ +5 +(0|\d\.\de-1\d) /m);
  expect(text).toContain("The case is within 1e-9.");
  expect(process.exitCode).toBeUndefined();
});

test("a case that does not agree is named, with the tensor, and fails", async () => {
  const path = changed("off", (tensors) => tensors.get("sd + nu/after/5/classifier.bias")!.add_(1e-4));
  const text = await printed(path, "--case", "sd + nu", "iga + nu");
  expect(text).toMatch(/^ +5 +\d\.\de-\d+ +1\.0e-4 +classifier\.bias/m);
  expect(text).toContain("1 of 2 cases differ by more than 1e-9: sd + nu.");
  expect(process.exitCode).toBe(1);
  const [sd] = JSON.parse(await printed(path, "--case", "sd + nu", "--json")) as { states: { largest: number }[] }[];
  expect(sd.states[1].largest).toBeCloseTo(1e-4, 9);
  await printed(path, "--case", "sd + nu", "--tolerance", "0.1");
});

test("a missing file and a file that is not a parity file are errors that contain the path", async () => {
  const noBatch = changed("no-batch", (tensors) => tensors.delete("batch/3/1/x"));
  await expect(printed(noBatch, "--case", "sd + nu")).rejects.toThrow(
    "expected the tensor batch/3/1/x, which is missing",
  );
  const noDraw = changed("no-draw", (tensors) => tensors.delete("causirl-mmd + nu/draw/2/cut/1"));
  await expect(printed(noDraw, "--case", "causirl-mmd + nu")).rejects.toThrow(
    'the draw "cut" of an update is not stored',
  );
  const noKey = changed("no-key", () => {}, "other");
  await expect(printed(noKey)).rejects.toThrow(DataError);
  await expect(printed(noKey)).rejects.toThrow('expected a parity file, with the metadata key "nudge-parity"');
  await expect(printed(VECTORS, "--case", "sd")).rejects.toThrow(UsageError);
});

test("the names of cases, which contain commas, are in quotation marks", async () => {
  await expect(printed(VECTORS, "--case", "foo")).rejects.toThrow(
    /unknown case "foo" \(known: .*"adrmx, same class", "/,
  );
  await expect(printed(VECTORS, "--case", "trm, serie")).rejects.toThrow('did you mean "trm, series"?');
  await expect(printed(join(folder, "none"))).rejects.toThrow("none: could not be opened: there is no such file");
});
