/** A model card in Markdown (after Mitchell et al., "Model Cards for Model Reporting", 2019): what a model is, and what it is not. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ASSESSMENT_FILE, readAssessment } from "../analysis/assessment.js";
import { showName } from "../data/show-name.js";
import { dependsOnBatch, type ModelAbout } from "../model/about.js";
import { unknownRule } from "../model/unknown.js";
import { ACCURACY, type RunRecord } from "../records/record.js";
import { ESTIMATE_FILE, isRunFolder, readRun } from "../records/run.js";
import { licenceWords, preprocessingWords } from "./export-metadata.js";
import { preprocessingCode } from "./preprocessing-code.js";

/** An accuracy from the run a model came from. */
export interface KnownAccuracy {
  readonly domain: string;
  /** Of what: held-back pictures of a training domain, a domain never seen, or the latter by a model trained without it. */
  readonly of: "validation" | "held out" | "estimate";
  readonly accuracy: number;
}

const OF_WORDS: Readonly<Record<KnownAccuracy["of"], string>> = {
  validation: "validation, held back",
  "held out": "never seen in training",
  estimate: "never seen, by a model trained on the other domains",
};

export interface ModelCard {
  readonly about: ModelAbout;
  /** The exported file's name. */
  readonly file: string;
  readonly format: "onnx" | "safetensors";
  readonly input: "normalised" | "pixels";
  /** Outputs of an ONNX file beside logits and features. */
  readonly outputs?: readonly ("probabilities" | "percentile")[];
  /** From the run's records; empty where they are not beside the model. */
  readonly known: readonly KnownAccuracy[];
  readonly version: string;
}

/** The accuracies of a model, where it lies in the folder of its run. */
export function knownAccuracies(modelPath: string, about: ModelAbout): KnownAccuracy[] {
  const folder = dirname(modelPath);
  if (!isRunFolder(folder) || !existsSync(join(folder, "records.jsonl"))) return [];
  const { settings, records } = readRun(folder);
  if ((settings as { hash?: unknown }).hash !== about.settings.hash) return []; // another run's
  return [...assessedAccuracies(folder, about, records), ...estimates(join(folder, ESTIMATE_FILE))];
}

/** As the run's report has them, on all pictures of a domain that was held out; else, for arrays, from its records. */
function assessedAccuracies(folder: string, about: ModelAbout, records: readonly RunRecord[]): KnownAccuracy[] {
  const path = join(folder, ASSESSMENT_FILE);
  const assessed = existsSync(path) ? readAssessment(path) : null;
  if (assessed?.model === about.model && assessed.step === about.step)
    return assessed.domains.map(({ name, part, accuracy }) => ({ domain: name, of: part, accuracy }));
  const own = records.filter(
    ({ model, step, metric }) => model === about.model && step === about.step && metric === ACCURACY,
  );
  const find = (domain: string, split: RunRecord["split"]): RunRecord | undefined =>
    own.find((row) => row.domain === domain && row.split === split);
  return [
    ...about.domains.map((domain) => ({ domain, row: find(domain, "out"), of: "validation" as const })),
    // A domain that was held out was never trained on, so its larger part counts.
    ...about.testDomains.map((domain) => ({ domain, row: find(domain, "in"), of: "held out" as const })),
  ].flatMap(({ domain, row, of }): KnownAccuracy[] => (row ? [{ domain, of, accuracy: row.value }] : []));
}

function estimates(path: string): KnownAccuracy[] {
  if (!existsSync(path)) return [];
  const held = readAssessment(path).domains.filter(({ part }) => part === "held out");
  return held.map(({ name, accuracy }) => ({ domain: name, of: "estimate", accuracy }));
}

/** The card. */
export function modelCard({ about, file, format, input, outputs = [], known, version }: ModelCard): string {
  const { settings } = about;
  const method = [settings.algorithm, ...idsOf(settings.regularizers)].filter(Boolean).join(" + ");
  const probe = about.backboneOptions.probe
    ? "; a probe: the network is frozen, and a linear map on its features was trained"
    : "";
  const lines = [
    `# ${inline(about.backbone)}: ${about.classes.length} classes`,
    "",
    `An image classifier (${inline(about.backbone)}, ${about.width} features) exported by nudge ${version} as \`${inline(file)}\`.`,
    "",
    "## What it was trained on",
    "",
    `- dataset: ${inline(about.dataset)}`,
    `- domains: ${about.domains.map(inline).join(", ")}`,
    `- domains it was never shown: ${about.testDomains.map(inline).join(", ") || "none was held out"}`,
    `- classes: ${about.classes.map(inline).join(", ")}`,
    `- method: ${inline(method)}; ${about.model === "current" ? `the weights after step ${about.step}, the best by validation on the training domains` : `the average of weights by ${inline(about.model)}, up to step ${about.step}`}${probe}`,
    `- starting weights: ${about.startingWeights ? `a file of SHA-256 ${inline(about.startingWeights.hash ?? "?")}…` : "random"}`,
    "",
    "## How well it does",
    "",
    ...accuracyLines(known),
    "",
    "## How to use it",
    "",
    ...usage({ about, file, format, input, outputs }),
    "",
    ...codeLines(about, input),
    "## Limits",
    "",
    `- It knows these ${about.classes.length} classes and no other: every picture is called one of them.`,
    `- Accuracy on a domain it never saw is lower than on those it was trained on, and is known only for the domains above.`,
    about.calibration
      ? `- Probabilities are softmax(logits / ${about.calibration.temperature.toFixed(4)}). The temperature was fitted to ${about.calibration.count} held-back pictures of the training domains; on other domains the model may still be overconfident: \`nudge eval\` measures the calibration error on pictures of yours.`
      : `- Its probabilities, softmax(logits), were not calibrated; \`nudge eval\` measures the calibration error on pictures of yours.`,
    about.distance
      ? `- The distance percentile, which \`nudge predict\`, \`serve\` and \`eval\` print, is the percentage of ${about.distance.compared} held-back training pictures whose features lie nearer to the training domains: about 50 for pictures like those, towards 100 for pictures unlike them. ${unknownWords(about)}`
      : `- The file has no score of how far a picture lies from the training domains.`,
    ...(dependsOnBatch(about)
      ? [
          `- What it says of a picture depends on the other pictures of the same batch${format === "onnx" ? ", which is taken as one group" : ""}.`,
        ]
      : []),
    "",
    "## Licence",
    "",
    `${inline(licenceWords(about))}. The pictures it was trained on may have terms of their own.`,
    "",
  ];
  return lines.join("\n");
}

/** The limits beyond which a picture is unknown, as predict has them by default. */
function unknownWords(about: ModelAbout): string {
  const { distance, probability } = unknownRule(about);
  const limits = [
    ...(distance === null ? [] : [`a distance percentile above ${distance.toFixed(0)}`]),
    ...(probability === null ? [] : [`a probability below ${probability.toFixed(3)}`]),
  ];
  return `\`nudge predict\` marks a picture as unknown that has ${limits.join(" or ")}.`;
}

/** Code that makes of a picture's file what the model takes. */
function codeLines(about: ModelAbout, input: ModelCard["input"]): string[] {
  const code = preprocessingCode(about, input);
  if (!code || about.preprocessing.kind !== "pictures") return [];
  return [
    "## Preprocessing, as code",
    "",
    "JavaScript, with sharp: the same numbers as `nudge predict`.",
    "",
    "```js",
    code.javascript.trimEnd(),
    "```",
    "",
    `Python, with Pillow and NumPy: the same numbers for pictures of at most ${about.preprocessing.shortSide} pixels on the short side. Larger ones are scaled down by another library than here, which changes pixels by about one step of 255.`,
    "",
    "```python",
    code.python.trimEnd(),
    "```",
    "",
  ];
}

function accuracyLines(known: readonly KnownAccuracy[]): string[] {
  if (known.length === 0)
    return [
      "Not known here: the records of its run were not beside the model. `nudge eval` measures it on labelled pictures.",
    ];
  return [
    "| domain | pictures | accuracy, % |",
    "| --- | --- | --- |",
    ...known.map(
      ({ domain, of, accuracy }) => `| ${inline(domain)} | ${OF_WORDS[of]} | ${(100 * accuracy).toFixed(1)} |`,
    ),
  ];
}

function usage({
  about,
  file,
  format,
  input,
  outputs,
}: Pick<ModelCard, "about" | "file" | "format" | "input"> & Required<Pick<ModelCard, "outputs">>): string[] {
  if (format === "safetensors")
    return [`- \`nudge predict ${inline(file)} picture.jpg\``, `- Preprocessing: ${preprocessingWords(about)}`];
  const { inputShape } = about.preprocessing;
  return [
    input === "pixels"
      ? `- Input \`pixels\`: uint8 [batch, ${inputShape[1]}, ${inputShape[2]}, 3], pictures resized to exactly this size; normalising is inside.`
      : `- Input \`input\`: float32 [batch, ${inputShape.join(", ")}]. Preprocessing: ${preprocessingWords(about)}`,
    `- Outputs: \`logits\` [batch, ${about.classes.length}], in the order of the classes above; \`features\`.`,
    ...outputs.map((name) => `- Output ${OUTPUT_WORDS[name]}`),
    "- The classes stand as JSON under `classes` in the file's metadata.",
  ];
}

const idsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((each) => (typeof each?.id === "string" ? [each.id as string] : [])) : [];

const OUTPUT_WORDS = {
  probabilities: "`probabilities` [batch, classes]: softmax(logits / temperature).",
  percentile: "`percentile` [batch]: the distance percentile, from 0 to 100, which Limits describes.",
} as const;

/** A name from a file as a piece of a Markdown line: it cannot begin a heading, a link or a table cell of its own. */
const inline = (text: unknown): string =>
  showName(String(text).replace(/\s+/gu, " ")).replace(/[\\`*_[\]<>|#]/g, "\\$&");
