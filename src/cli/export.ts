/** `nudge export`: writes a model for other programs, with a model card. */

import { basename, join, resolve } from "node:path";
import { Command } from "commander";
import { UsageError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import { version } from "../library/version.js";
import { formatFor } from "./format-by-ending.js";
import { openModel, type Write } from "./model-options.js";
import { oneOf } from "./parse-options.js";
import { checkFile } from "./writable-place.js";

const formats = ["onnx", "safetensors"] as const;
const inputs = ["normalised", "pixels"] as const;
const OUTPUTS = ["probabilities", "percentile"] as const;

interface ExportFlags {
  format?: (typeof formats)[number];
  input: (typeof inputs)[number];
  probabilities?: true;
  percentile?: true;
  out?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge export runs/9f2c… --out model.onnx
  nudge export runs/9f2c… --out model.onnx --input pixels --probabilities --percentile
  nudge export runs/9f2c… --out model-for-others.safetensors

An ONNX file is written from a recording of the model's forward pass, so the
backbone of a plug-in can be exported too (--plugin). An operator that has no
translation is an error that names it and the layer. The file accepts any batch
size and returns logits and features; batch norms are folded into the
convolutions. The file's metadata contains labels, preprocessing and licence.
The model card is written to the same folder (model.onnx.md).`;

/** The command. `write` receives its output. */
export function exportCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("export")
    .description("Writes a model for other programs, as ONNX or safetensors, and a model card in Markdown.")
    .argument("<model>", "a model file, or the folder of a run")
    .option(
      "--format <format>",
      `${formats.join(", ")} (default: by the ending of --out, or onnx)`,
      oneOf("format", formats),
    )
    .option(
      "--input <kind>",
      "the input of an ONNX file: normalised (float32, preprocessed as the metadata describes) or pixels (uint8, height × width × 3)",
      oneOf("input", inputs),
      "normalised",
    )
    .option("--probabilities", "add the output probabilities, softmax(logits / temperature), to an ONNX file")
    .option(
      "--percentile",
      "add the output percentile, the distance from the training domains between 0 and 100, to an ONNX file",
    )
    .option("--out <file>", "the file to write (default: model.onnx or exported.safetensors in the current folder)")
    .option("--json", "print the names of the written files as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: ExportFlags) => exportModel(model, flags, write));
}

async function exportModel(
  path: string,
  { format: asked, out, json, ...options }: ExportFlags,
  write: Write,
): Promise<void> {
  const format = formatFor({ asked, file: out, known: formats, usual: "onnx" });
  const { input } = options;
  const ofOnnx = [input === "pixels" && "--input pixels", ...OUTPUTS.map((name) => options[name] && `--${name}`)];
  const misplaced = format === "safetensors" && ofOnnx.find(Boolean);
  if (misplaced)
    throw new UsageError(`${misplaced}: only an ONNX file has inputs and outputs; remove it for safetensors`);
  const file = out ?? join(".", format === "onnx" ? "model.onnx" : "exported.safetensors");
  checkFile(file);
  using model = await openModel(path, { device: "cpu" });
  if (resolve(file) === resolve(model.path))
    throw new UsageError(`--out ${file} is the model itself and would be overwritten; choose another name`);
  if (format === "onnx") {
    const { exportOnnx } = await import("../export/export-onnx.js");
    exportOnnx(model, file, { ...options, version: version() });
  } else {
    const { exportSafetensors } = await import("../export/export-safetensors.js");
    exportSafetensors(model, file);
  }
  const { knownAccuracies, modelCard } = await import("../export/model-card.js");
  const known = knownAccuracies(model.path, model.about);
  const card = `${file}.md`;
  const outputs = OUTPUTS.filter((name) => options[name]);
  const of = { file: basename(file), format, input, outputs };
  const text = modelCard({ about: model.about, ...of, known, version: version() });
  replaceFile(card, (put) => put(Buffer.from(text)));
  write(json ? `${JSON.stringify({ file, card, format, input, outputs })}\n` : `wrote ${file}\nwrote ${card}\n`);
}
