/** Runs that a stranger made, in a soup: whatever is in them, the command refuses them by name or averages them, and writes no model that cannot predict. */

import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { liveTensors } from "../../src/engine/device.js";
import { scope } from "../../src/engine/scope.js";
import { tensor } from "../../src/engine/tensor.js";
import { readWeights, writeWeights } from "../../src/engine/weights.js";
import { METADATA_KEY } from "../../src/model/about.js";
import { readModelAbout } from "../../src/model/index.js";
import { catchPrinted } from "../support/printed.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-combined-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000);
const printed = catchPrinted();
const [good, bad, out] = ["good", "bad", "soup"].map((name) => join(folder, name));
const model = join(bad, "model.safetensors");

beforeAll(async () => {
  const words =
    "train --data shapes --test-domain textured --algorithm erm data.perCell=3 data.size=16 --steps 2 --eval-every 1 --batch-size 2 --threads 1 --quiet";
  for (const [name, lr] of [["good", 1e-3], ["spare", 2e-3]] as const) // biome-ignore format: pairs
    expect(await main([...words.split(" "), `lr=${lr}`, "--out", join(folder, `${name}-runs`), "--name", name])).toBe(
      0,
    );
  cpSync(join(folder, "good-runs/latest"), good, { recursive: true, dereference: true });
}, 60_000);

/** Changes a JSON file of the run. */
function change(file: string, with_: (content: Record<string, unknown>) => void): void {
  const content = JSON.parse(readFileSync(join(bad, file), "utf8"));
  with_(content);
  writeFileSync(join(bad, file), JSON.stringify(content));
}

/** Changes the tensors of the run's model, with checksums of what is then in it. */
function withTensors(edit: (tensors: ReturnType<typeof readWeights>) => void): void {
  const about = readModelAbout(model);
  scope(() => {
    const tensors = readWeights(model);
    edit(tensors);
    writeWeights(`${model}.new`, tensors, { [METADATA_KEY]: JSON.stringify(about) });
  });
  cpSync(`${model}.new`, model);
  rmSync(`${model}.new`);
}

function linked(target: string): void {
  rmSync(model);
  symlinkSync(target, model);
}

const nameOfWeight = (tensors: ReturnType<typeof readWeights>): string =>
  [...tensors.keys()].find((name) => name.startsWith("classifier") && name.endsWith("weight"))!;

const ATTACKS: [what: string, attack: () => void, words: string | RegExp][] = [
  ["no model", () => rmSync(model), /bad/],
  ["a model that ends early", () => truncateSync(model, 1000), /bad/],
  ["a link to another file as model", () => linked("/etc/passwd"), /bad/],
  [
    "a flipped bit",
    () => {
      const bytes = readFileSync(model);
      bytes[bytes.length - 40] ^= 1;
      writeFileSync(model, bytes);
    },
    /bad.*(checksum|damaged)/,
  ],
  [
    "weights that are not finite",
    () => withTensors((all) => all.set(nameOfWeight(all), all.get(nameOfWeight(all))!.mul(tensor(Number.NaN)))),
    /bad.*not finite/,
  ],
  ["a tensor too few", () => withTensors((all) => void all.delete(nameOfWeight(all))), /missing/],
  ["a tensor too many", () => withTensors((all) => all.set("backbone.lora.a", tensor([1, 2]))), /unexpected/],
  ["a tensor of another shape", () => withTensors((all) => all.set(nameOfWeight(all), tensor([[1, 2]]))), /shape/],
  ["settings that are a list", () => writeFileSync(join(bad, "settings.json"), "[]"), /settings\.json/],
  ["no settings", () => rmSync(join(bad, "settings.json")), /settings\.json/],
  ["a request that is a text", () => change("settings.json", (all) => (all.request = "rm -rf /")), /settings\.json/],
  ["another split", () => change("settings.json", (all) => (all.splitHash = "\x1b[2Jx")), /they differ in the split/],
  ["settings of the prototype", () => change("settings.json", (all) => (all.dataset = { constructor: 1 })), /bad/],
];

test.each(ATTACKS)("a soup with a run that has %s is refused by name", async (_, attack, words) => {
  rmSync(bad, { recursive: true, force: true });
  cpSync(join(folder, "spare-runs/latest"), bad, { recursive: true, dereference: true });
  attack();
  const before = liveTensors();
  for (const kind of ["uniform", "greedy"]) {
    printed.stderr = "";
    expect(await main(["soup", good, bad, "--kind", kind, "--out", out, "--quiet"])).toBeGreaterThan(0);
    expect(printed.stderr).toMatch(words);
    expect(printed.stderr).not.toContain("    at "); // no stack
    expect(existsSync(join(out, "model.safetensors"))).toBe(false);
  }
  expect(liveTensors()).toBe(before);
});

test("the same runs without a change make a soup", async () => {
  const runs = ["good", "spare"].map((name) => join(folder, `${name}-runs/latest`));
  expect(await main(["soup", ...runs, "--kind", "uniform", "--out", out, "--quiet"]), printed.stderr).toBe(0);
  expect(existsSync(join(out, "model.safetensors"))).toBe(true);
});
