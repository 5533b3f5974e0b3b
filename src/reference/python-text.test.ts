import { expect, test } from "vitest";
import { referenceVectors, untagged } from "../../tests/support/reference-vectors.js";
import { referenceJobName, referenceJobSeed } from "./job.js";
import { type PythonJson, pythonJson } from "./python-json.js";
import { floatText, numberText, PythonFloat } from "./python-number.js";
import { type PythonValue, pythonRepr, seedHash } from "./seed-hash.js";

test("seed hashes are the reference's", () => {
  expect([seedHash(1, 0), seedHash(0, 0), seedHash(0, 1), seedHash(0, 2)]).toEqual([
    785910682, 894182419, 1514274641, 1325548499,
  ]);
  expect([seedHash(0, 3), seedHash(1, 1), seedHash(2, 0)]).toEqual([1796103049, 1442673865, 472130416]);
});

test("the seeds of hyperparameters are the reference's", () => {
  const seeds = ["lr", "weight_decay", "batch_size", "resnet_dropout", "theta"].map((name) =>
    seedHash(785910682, name),
  );
  expect(seeds).toEqual([2037049235, 747043534, 132509163, 2037644103, 1830202079]);
});

test.each(referenceVectors.seedHash)("$text hashes as in Python", ({ values, text, seed }) => {
  const given = untagged<PythonValue[]>(values);
  const inside = given.map(pythonRepr).join(", ");
  expect(given.length === 1 ? `(${inside},)` : `(${inside})`).toBe(text);
  expect(seedHash(...given)).toBe(seed);
});

test.each(referenceVectors.json)("$text is written as in Python", ({ value, text }) => {
  expect(pythonJson(untagged<PythonJson>(value))).toBe(text);
});

test("a key without a value is left out of JSON", () => {
  expect(pythonJson({ a: undefined, b: 1 })).toBe('{"b": 1}');
});

test("floats read back as themselves, and switch to an exponent where Python's do", () => {
  expect([0.0001, 0.00001, 1e15, 1e16, 123.5, 0, -0, 1e100].map(floatText)).toEqual([
    "0.0001",
    "1e-05",
    "1000000000000000.0",
    "1e+16",
    "123.5",
    "0.0",
    "-0.0",
    "1e+100",
  ]);
  for (let exponent = -300; exponent < 300; exponent += 7) {
    const value = 1.2345678901234567 * 10 ** exponent;
    expect(Number(floatText(value))).toBe(value);
    expect(Number(floatText(-value))).toBe(-value);
  }
});

test("a whole number is an int unless it is said to be a float, and one too large to be exact is refused", () => {
  expect([numberText(1), numberText(new PythonFloat(1)), numberText(-0), numberText(2n ** 64n)]).toEqual([
    "1",
    "1.0",
    "0",
    "18446744073709551616",
  ]);
  expect(() => numberText(2 ** 60)).toThrow("too large to be an exact int; give a bigint");
  expect(() => floatText(Number.NaN)).toThrow("expected a finite number, got NaN");
});

test("jobs have the reference's seeds and folder names", () => {
  const first = { dataset: "PACS", algorithm: "ERM", testDomains: [0], hparamsSeed: 0, trialSeed: 0, dataDir: "data" };
  expect(referenceJobSeed(first)).toBe(94828300);
  expect(referenceJobName(first)).toBe("5d347171b86e3b941e8400685158edec");
  const second = { ...first, testDomains: [0, 1], hparamsSeed: 3, trialSeed: 1 };
  expect(referenceJobSeed(second)).toBe(1588147304);
  expect(referenceJobName(second)).toBe("302afbec48cac185e9b7960659c6ba46");
});

test.each(referenceVectors.jobs)("the job $arguments is named as in Python", ({ arguments: given, name }) => {
  const job = {
    dataset: given.dataset as string,
    algorithm: given.algorithm as string,
    testDomains: given.test_envs as number[],
    hparamsSeed: given.hparams_seed as number,
    trialSeed: given.trial_seed as number,
    dataDir: given.data_dir as string,
    holdout: given.holdout_fraction as number,
    steps: given.steps as number | undefined,
    hparams: given.hparams as string | undefined,
  };
  expect(referenceJobSeed(job)).toBe(given.seed);
  expect(referenceJobName(job)).toBe(name);
});
