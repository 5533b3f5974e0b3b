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

interface ExportFlags {
  format?: (typeof formats)[number];
  input: (typeof inputs)[number];
  out?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge export runs/9f2c… --out model.onnx
  nudge export runs/9f2c… --out model.onnx --input pixels
  nudge export runs/9f2c… --out model-for-others.safetensors

Batch norms are folded into the convolutions. An ONNX file accepts any batch size
and returns logits and features. The file's metadata contains labels, preprocessing
and licence. The model card is written to the same folder (model.onnx.md).`;

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
    .option("--out <file>", "the file to write (default: model.onnx or exported.safetensors in the current folder)")
    .option("--json", "print the names of the written files as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: ExportFlags) => exportModel(model, flags, write));
}

async function exportModel(
  path: string,
  { format: asked, input, out, json }: ExportFlags,
  write: Write,
): Promise<void> {
  const format = formatFor({ asked, file: out, known: formats, usual: "onnx" });
  if (format === "safetensors" && input === "pixels")
    throw new UsageError("--input pixels: only an ONNX file has an input; remove --input for safetensors");
  const file = out ?? join(".", format === "onnx" ? "model.onnx" : "exported.safetensors");
  checkFile(file);
  using model = await openModel(path, { device: "cpu" });
  if (resolve(file) === resolve(model.path))
    throw new UsageError(`--out ${file} is the model itself and would be overwritten; choose another name`);
  if (format === "onnx") {
    const { exportOnnx } = await import("../export/export-onnx.js");
    exportOnnx(model, file, { input, version: version() });
  } else {
    const { exportSafetensors } = await import("../export/export-safetensors.js");
    exportSafetensors(model, file);
  }
  const { knownAccuracies, modelCard } = await import("../export/model-card.js");
  const known = knownAccuracies(model.path, model.about);
  const card = `${file}.md`;
  const text = modelCard({ about: model.about, file: basename(file), format, input, known, version: version() });
  replaceFile(card, (put) => put(Buffer.from(text)));
  write(json ? `${JSON.stringify({ file, card, format, input })}\n` : `wrote ${file}\nwrote ${card}\n`);
}
