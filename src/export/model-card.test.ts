import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeMadeModel } from "../../tests/support/made-model.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { assessmentOf } from "../analysis/assessment.js";
import { judgedAs } from "../analysis/judged.fixture.js";
import type { ModelAbout } from "../model/about.js";
import { knownAccuracies, modelCard } from "./model-card.js";

function made(): { folder: string; path: string; about: ModelAbout } {
  const folder = mkdtempSync(join(tmpdir(), "nudge-card-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "model.safetensors");
  const settings = { algorithm: "erm", regularizers: [{ id: "nuclear-norm", settings: {} }], hash: "0123456789abcdef" };
  return { folder, path, about: writeMadeModel(path, { about: { settings } }) };
}

/** A run's files beside the model: two evaluations, of which the second made it. */
function writeRun(folder: string, hash: string): void {
  const settings = {
    ...{ dataset: "made", domains: ["photo", "paint", "sketch"], testDomains: ["sketch"], algorithm: "erm", hash },
    ...{ regularizers: [], averaging: [], hparamsSeed: 0, trialSeed: 0, seed: 0, hparams: {} },
  };
  writeFileSync(join(folder, "settings.json"), JSON.stringify(settings));
  const row = (step: number, domain: string, split: string, value: number) =>
    JSON.stringify({ step, model: "current", domain, split, metric: "accuracy", value });
  const rows = [3, 9].flatMap((step) => [
    row(step, "photo", "out", step / 10),
    row(step, "sketch", "in", step / 20),
    row(step, "sketch", "out", 0),
  ]);
  writeFileSync(join(folder, "records.jsonl"), `${rows.join("\n")}\n`);
}

const card = (about: ModelAbout, known: ReturnType<typeof knownAccuracies>): string =>
  modelCard({ about, file: "m.onnx", format: "onnx", input: "normalised", known, version: "1" });

test("a card has the accuracies of its own step, and says which domain was never seen", () => {
  const { folder, path, about } = made();
  writeRun(folder, "0123456789abcdef");
  const text = card(about, knownAccuracies(path, about));
  expect(text).toContain("| photo | validation | 90.0 |");
  expect(text).toContain("| sketch | held out, not used for training | 45.0 |");
  expect(text).toContain("method: erm + nuclear-norm");
});

test("a card names an exact probe as logistic regression with its C", () => {
  const { about } = made();
  const settings = { ...about.settings, probe: "exact", probeC: 0.01, refit: true };
  expect(card({ ...about, settings }, [])).toContain(
    "- method: logistic regression on the features of the frozen network (exact probe, C = 0.01); fitted to all pictures after the validation\n",
  );
});

test("a card of a run that was assessed has what its report has: all pictures of the domain that was held out", () => {
  const { folder, path, about } = made();
  writeRun(folder, "0123456789abcdef");
  const judged = [0, 0, 0, 1].map((said) => judgedAs(0, said, 0.9, { domain: "sketch" }));
  const assessed = { model: "current", classes: ["a", "b"], heldOut: ["sketch"] };
  const writeAssessment = (step: number): void =>
    writeFileSync(join(folder, "assessment.json"), JSON.stringify(assessmentOf(judged, { ...assessed, step })));
  writeAssessment(9);
  expect(knownAccuracies(path, about)).toEqual([{ domain: "sketch", of: "held out", accuracy: 0.75 }]);
  writeAssessment(3); // of another moment, so of another model
  expect(knownAccuracies(path, about)).toContainEqual({ domain: "sketch", of: "held out", accuracy: 0.45 });
});

test("the records of another run beside the model are not used", () => {
  const { folder, path, about } = made();
  writeRun(folder, "fedcba9876543210");
  expect(knownAccuracies(path, about)).toEqual([]);
  expect(card(about, [])).toContain("Unknown: the records");
});

test("an estimate for unseen domains, by runs without each, is in the card as that", () => {
  const { folder, path, about } = made();
  writeRun(folder, "0123456789abcdef");
  const judged = [judgedAs(0, 0, 0.9, { domain: "paint" }), judgedAs(0, 1, 0.9, { domain: "paint" })];
  const found = assessmentOf(judged, { model: "current", step: 9, classes: ["a", "b"], heldOut: ["paint"] });
  writeFileSync(join(folder, "estimate.json"), JSON.stringify(found));
  const text = card(about, knownAccuracies(path, about));
  expect(text).toContain("| paint | held out, by a model trained on the other domains | 50.0 |");
});

test("a card states that a model is a probe or an average, and the license of its starting weights", () => {
  const { about } = made();
  const averaged = { ...about, model: "swad", backboneOptions: { ...about.backboneOptions, probe: true } };
  const text = card(averaged, []);
  expect(text).toContain("the average of the weights (swad) up to step 9; a probe: the network is frozen");
  expect(text).toContain("Trained from random weights");
  const licensed = { ...about, startingWeights: { hash: "00", licence: "BSD-3-Clause", metadata: {} } };
  expect(card(licensed, [])).toContain("Starting weights: BSD-3-Clause");
  const metadata = { architecture: "x", weights: "converted from a zoo (Apache-2.0)" };
  const unlicensed = card({ ...about, startingWeights: { hash: "00", licence: null, metadata } }, []);
  expect(unlicensed).toContain('has no license. Its description: "converted from a zoo (Apache-2.0)"');
});

test("the card says the temperature, what the distance percentile is and its limits, and has code to preprocess by", () => {
  const folder = temporaryFolder();
  const quantiles = Array.from({ length: 101 }, (_, i) => i / 100);
  const about = writeMadeModel(join(folder, "model.safetensors"), {
    about: { calibration: { temperature: 1.5, count: 40, quantiles }, distance: { fitted: 90, compared: 40 } },
  });
  const card = modelCard({ about, file: "m.onnx", format: "onnx", input: "normalised", known: [], version: "1" });
  expect(card).toContain("softmax(logits / 1.5000)");
  expect(card).toContain("the percentage of 40 validation pictures of the training domains");
  expect(card).toContain("a distance percentile above 98 or a probability below 0.020");
  expect(card).toContain("```js\nimport sharp");
  expect(card).toContain("```python\nimport numpy");
});

test("a card names the requested outputs in addition to logits and features", () => {
  const { about } = made();
  const options = { about, file: "m.onnx", format: "onnx", input: "pixels", known: [], version: "1" } as const;
  const text = modelCard({ ...options, outputs: ["probabilities", "percentile"] });
  expect(text).toContain("- Output `probabilities` [batch, classes]: softmax(logits / temperature).");
  expect(text).toContain("- Output `percentile` [batch]: the distance percentile");
  expect(modelCard(options)).not.toContain("- Output `");
});

test("a card of ARM says that an ONNX file treats a batch as one domain", () => {
  const { about } = made();
  const prediction = { kind: "algorithm", classifier: "linear", id: "arm", hparams: {}, domains: 2 } as const;
  expect(card({ ...about, prediction }, [])).toContain("other pictures in the batch, which is treated as one domain.");
});
