/** A model card in Markdown, after Mitchell et al., "Model Cards for Model Reporting", 2019. */

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

/** An accuracy from the run that trained the model. */
export interface KnownAccuracy {
  readonly domain: string;
  /**
   * The pictures: validation pictures of a training domain, a held-out domain, or a held-out domain evaluated by another
   * model that was trained without it.
   */
  readonly of: "validation" | "held out" | "estimate";
  readonly accuracy: number;
}

const OF_WORDS: Readonly<Record<KnownAccuracy["of"], string>> = {
  validation: "validation",
  "held out": "held out, not used for training",
  estimate: "held out, by a model trained on the other domains",
};

export interface ModelCard {
  readonly about: ModelAbout;
  /** The name of the exported file. */
  readonly file: string;
  readonly format: "onnx" | "safetensors" | "pytorch" | "hugging-face";
  readonly input: "normalised" | "pixels";
  /** Outputs of an ONNX file in addition to logits and features. */
  readonly outputs?: readonly ("probabilities" | "percentile")[];
  /** From the records of the run; empty if they are not in the folder of the model. */
  readonly known: readonly KnownAccuracy[];
  readonly version: string;
}

/** The accuracies of a model that is in the folder of its run. */
export function knownAccuracies(modelPath: string, about: ModelAbout): KnownAccuracy[] {
  const folder = dirname(modelPath);
  if (!isRunFolder(folder) || !existsSync(join(folder, "records.jsonl"))) return [];
  const { settings, records } = readRun(folder);
  if ((settings as { hash?: unknown }).hash !== about.settings.hash) return []; // the records are of another run
  return [...assessedAccuracies(folder, about, records), ...estimates(join(folder, ESTIMATE_FILE))];
}

/** From the assessment of the run, on all pictures of a held-out domain; for datasets of arrays, from its records. */
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
    // No part of a held-out domain was used for training, so the larger part is reported.
    ...about.testDomains.map((domain) => ({ domain, row: find(domain, "in"), of: "held out" as const })),
  ].flatMap(({ domain, row, of }): KnownAccuracy[] => (row ? [{ domain, of, accuracy: row.value }] : []));
}

function estimates(path: string): KnownAccuracy[] {
  if (!existsSync(path)) return [];
  const held = readAssessment(path).domains.filter(({ part }) => part === "held out");
  return held.map(({ name, accuracy }) => ({ domain: name, of: "estimate", accuracy }));
}

/** How the model was trained. */
function methodWords({ settings, backboneOptions, model, step }: ModelAbout): string {
  if (settings.probe === "exact") {
    const strength = typeof settings.probeC === "number" ? `, C = ${settings.probeC}` : "";
    const refit = settings.refit === true ? "; fitted to all pictures after the validation" : "";
    const vote = settings.neighbours === true ? ", averaged with a vote of the nearest training pictures" : "";
    return `logistic regression on the features of the frozen network (exact probe${strength})${vote}${refit}`;
  }
  const method = [settings.algorithm, ...idsOf(settings.regularizers)].filter(Boolean).join(" + ");
  const weights =
    model === "current"
      ? `the weights after step ${step}, which had the highest validation accuracy on the training domains`
      : `the average of the weights (${inline(model)}) up to step ${step}`;
  const probe = backboneOptions.probe
    ? "; a probe: the network is frozen, and a linear map on its features was trained"
    : "";
  return `${inline(method)}; ${weights}${probe}`;
}

/** Returns the text of the card. */
export function modelCard({ about, file, format, input, outputs = [], known, version }: ModelCard): string {
  const lines = [
    `# ${inline(about.backbone)}: ${about.classes.length} classes`,
    "",
    `An image classifier (${inline(about.backbone)}, ${about.width} features) exported by nudge ${version} as \`${inline(file)}\`.`,
    "",
    "## Training data",
    "",
    `- dataset: ${inline(about.dataset)}`,
    `- domains: ${about.domains.map(inline).join(", ")}`,
    `- held-out domains: ${about.testDomains.map(inline).join(", ") || "none"}`,
    `- classes: ${about.classes.map(inline).join(", ")}`,
    `- method: ${methodWords(about)}`,
    `- starting weights: ${about.startingWeights ? `a file with the SHA-256 ${inline(about.startingWeights.hash ?? "?")}…` : "random"}`,
    "",
    "## Accuracy",
    "",
    ...accuracyLines(known),
    "",
    "## Usage",
    "",
    ...usage({ about, file, format, input, outputs }),
    "",
    ...codeLines(about, input),
    "## Limits",
    "",
    `- It knows only these ${about.classes.length} classes: every picture is assigned to one of them.`,
    `- The accuracy on a new domain is usually lower than on the training domains. It is known only for the domains above.`,
    about.calibration
      ? `- Probabilities are softmax(logits / ${about.calibration.temperature.toFixed(4)}). ${about.calibration.heldOut ? `The temperature was chosen on ${about.calibration.count} pictures of held-out domains, on which the mean calibration error was ${(100 * about.calibration.heldOut.calibrationError).toFixed(1)} points` : `The temperature was fitted to ${about.calibration.count} validation pictures of the training domains; on other domains the model may still be overconfident`}: \`nudge eval\` measures the calibration error on your pictures.`
      : `- The probabilities, softmax(logits), are not calibrated; \`nudge eval\` measures the calibration error on your pictures.`,
    about.distance
      ? `- The distance percentile, which \`nudge predict\`, \`serve\` and \`eval\` print, is the percentage of ${about.distance.compared} validation pictures of the training domains whose features lie nearer to the training domains: about 50 for pictures like those, and near 100 for pictures that differ from them. ${unknownWords(about)}`
      : `- The file has no distance percentile, so it cannot report how much a picture differs from the training domains.`,
    ...(dependsOnBatch(about)
      ? [
          `- The prediction for a picture depends on the other pictures in the batch${format === "onnx" ? ", which is treated as one domain" : ""}.`,
        ]
      : []),
    "",
    "## License",
    "",
    `${inline(licenceWords(about))}. The training pictures may have other license terms.`,
    "",
  ];
  return lines.join("\n");
}

/** The default limits beyond which `nudge predict` marks a picture as unknown. */
function unknownWords(about: ModelAbout): string {
  const { distance, probability } = unknownRule(about);
  const limits = [
    ...(distance === null ? [] : [`a distance percentile above ${Number(distance.toFixed(1))}`]),
    ...(probability === null ? [] : [`a probability below ${probability.toFixed(3)}`]),
  ];
  return `\`nudge predict\` marks a picture as unknown that has ${limits.join(" or ")}.`;
}

/** Code that converts a picture file to the input of the model. */
function codeLines(about: ModelAbout, input: ModelCard["input"]): string[] {
  const code = preprocessingCode(about, input);
  if (!code || about.preprocessing.kind !== "pictures") return [];
  return [
    "## Preprocessing, as code",
    "",
    "JavaScript, with sharp: the same numbers as `nudge predict`, for every format that sharp reads (not BMP).",
    "",
    "```js",
    code.javascript.trimEnd(),
    "```",
    "",
    `Python, with Pillow and NumPy: the same numbers for pictures of at most ${about.preprocessing.shortSide} pixels on the short side. Pillow scales larger pictures down differently, which changes pixel values by about 1 of 255; for CMYK files and JPEG files of more than twice that size, by up to 6. Transparent pixels of GIF files are black in \`nudge predict\` and have their hidden color in Pillow.`,
    "",
    "```python",
    code.python.trimEnd(),
    "```",
    "",
  ];
}

/** How pictures get the size of the input, for a model that normalises them itself. */
function pixelWords({ preprocessing }: ModelAbout): string {
  if (preprocessing.kind !== "pictures" || preprocessing.resize === undefined)
    return "pictures resized to exactly this size";
  return `pictures whose short side is resized to ${preprocessing.resize} and whose centre is cropped to this size`;
}

function accuracyLines(known: readonly KnownAccuracy[]): string[] {
  if (known.length === 0)
    return [
      "Unknown: the records of the run were not in the folder of the model. `nudge eval` measures the accuracy on labelled pictures.",
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
  if (format === "pytorch")
    return [
      `- \`${inline(file.replace(/\.safetensors$/, ""))}.py\` loads it: a state dict with the names of torchvision or timm.`,
      `- Preprocessing: ${preprocessingWords(about)}`,
    ];
  if (format === "hugging-face") return huggingFaceUsage(about);
  const { inputShape } = about.preprocessing;
  return [
    input === "pixels"
      ? `- Input \`pixels\`: uint8 [batch, ${inputShape[1]}, ${inputShape[2]}, 3], ${pixelWords(about)}; the model normalizes them.`
      : `- Input \`input\`: float32 [batch, ${inputShape.join(", ")}]. Preprocessing: ${preprocessingWords(about)}`,
    `- Outputs: \`logits\` [batch, ${about.classes.length}], in the order of the classes above; \`features\`.`,
    ...outputs.map((name) => `- Output ${OUTPUT_WORDS[name]}`),
    "- The metadata of the file has the classes as JSON, under `classes`.",
  ];
}

/** Code for transformers.js, and what its numbers mean. */
const huggingFaceUsage = (about: ModelAbout): string[] => [
  "```js",
  'import { pipeline } from "@huggingface/transformers";',
  "",
  'const classify = await pipeline("image-classification", "FOLDER OR HUB NAME", { dtype: "fp32" });',
  'console.log(await classify("picture.jpg"));',
  "```",
  "",
  "- Scores are the probabilities of `nudge predict`: the logits are already divided by the temperature.",
  `- Preprocessing in training: ${preprocessingWords(about)}. Programs of Hugging Face read files and resize pictures in a slightly different way, so that a few predictions differ.`,
];

const idsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((each) => (typeof each?.id === "string" ? [each.id as string] : [])) : [];

const OUTPUT_WORDS = {
  probabilities: "`probabilities` [batch, classes]: softmax(logits / temperature).",
  percentile: "`percentile` [batch]: the distance percentile, from 0 to 100, described under Limits.",
} as const;

/** Escapes a name from a file for use in a line of Markdown, so that it cannot start a heading, a link or a table cell. */
const inline = (text: unknown): string =>
  showName(String(text).replace(/\s+/gu, " ")).replace(/[\\`*_[\]<>|#]/g, "\\$&");
