/** `nudge export`: writes a model for other programs, with a model card. */

import { basename, join, resolve } from "node:path";
import { Command } from "commander";
import { UsageError } from "../errors.js";
import { replaceFile } from "../files/replace-file.js";
import { version } from "../library/version.js";
import type { Model } from "../model/index.js";
import { formatFor } from "./format-by-ending.js";
import { openModel, type Write } from "./model-options.js";
import { oneOf } from "./parse-options.js";
import { checkFile } from "./writable-place.js";

const formats = ["onnx", "safetensors", "hf", "pytorch", "web"] as const;
/** Formats that are folders and bring their own card. */
const FOLDERS: readonly string[] = ["hf", "web"] satisfies (typeof formats)[number][];
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
  nudge export runs/9f2c… --format hf --out my-model       # a folder for Hugging Face's hub
  nudge export runs/9f2c… --format pytorch --out model.safetensors
  nudge export runs/9f2c… --format web --out page          # runs in the browser

An ONNX file is written from a recording of the model's forward pass, so the
backbone of a plug-in can be exported too (--plugin). An operator that has no
translation is an error that names it and the layer. The file accepts any batch
size and returns logits and features; batch norms are folded into the
convolutions. The file's metadata contains labels, preprocessing and licence.
The model card is written to the same folder (model.onnx.md).

--format hf writes a folder for Hugging Face's hub: an ONNX file that
transformers.js runs, tensors that transformers in Python loads (ResNet,
MobileNetV2, ViT, DINOv2 and ConvNeXt), configuration, and a card with metadata.
Scores are the probabilities of predict. --format pytorch writes a state dict
with torchvision's names (timm's for networks that torchvision does not have),
and an example in Python that loads it. --format web writes a page that runs the
model in the browser; any static host serves the folder, for example
npx http-server page. It needs the package onnxruntime-web.`;

/** The command. `write` receives its output. */
export function exportCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("export")
    .description(
      "Writes a model for other programs, as ONNX, safetensors, PyTorch state dict, Hugging Face folder or web page, and a model card.",
    )
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
    .option(
      "--out <path>",
      "the file to write (default: model.onnx, exported.safetensors or model-pytorch.safetensors), or the folder for hf (default: hugging-face) and web (default: web)",
    )
    .option("--json", "print the names of the written files as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: ExportFlags) => exportModel(model, flags, write));
}

/** What an export wrote, and what the user should know of it. */
interface Written {
  readonly files: readonly string[];
  readonly note?: string;
}

type Writer = (model: Model, file: string, flags: ExportFlags) => Promise<Written>;

/** The default name and the writer of each format. */
const FORMATS: Readonly<Record<(typeof formats)[number], { readonly usual: string; readonly write: Writer }>> = {
  onnx: {
    usual: "model.onnx",
    async write(model, file, flags) {
      const { exportOnnx } = await import("../export/export-onnx.js");
      exportOnnx(model, file, { ...flags, version: version() });
      return { files: [file, await writeCard(model, file, "onnx", flags)] };
    },
  },
  safetensors: {
    usual: "exported.safetensors",
    async write(model, file, flags) {
      const { exportSafetensors } = await import("../export/export-safetensors.js");
      exportSafetensors(model, file);
      return { files: [file, await writeCard(model, file, "safetensors", flags)] };
    },
  },
  pytorch: {
    usual: "model-pytorch.safetensors",
    async write(model, file, flags) {
      const { exportPyTorch } = await import("../export/pytorch.js");
      const example = exportPyTorch(model, file);
      return { files: [file, example, await writeCard(model, file, "pytorch", flags)] };
    },
  },
  web: {
    usual: "web",
    async write(model, folder) {
      const { exportWeb } = await import("../serve/export-web.js");
      const files = exportWeb(model, folder, { version: version(), base: new URL("../", import.meta.url) });
      return { files: files.map((name) => join(folder, name)), note: "Any static host can serve the folder." };
    },
  },
  hf: {
    usual: "hugging-face",
    async write(model, folder) {
      const { exportHuggingFace } = await import("../export/hugging-face.js");
      const { files, onlyOnnx } = exportHuggingFace(model, folder, { version: version() });
      return {
        files: files.map((name) => join(folder, name)),
        note: onlyOnnx && `There is no model.safetensors, which Python reads: ${onlyOnnx}. transformers.js needs none.`,
      };
    },
  },
};

async function exportModel(path: string, flags: ExportFlags, write: Write): Promise<void> {
  const { format: asked, out, input } = flags;
  const format = formatFor({ asked, file: out, known: formats, usual: "onnx" });
  const ofOnnx = [input === "pixels" && "--input pixels", ...OUTPUTS.map((name) => flags[name] && `--${name}`)];
  const misplaced = format !== "onnx" && ofOnnx.find(Boolean);
  if (misplaced)
    throw new UsageError(`${misplaced}: only an ONNX file has inputs and outputs; remove it for ${format}`);
  const { usual, write: writeModel } = FORMATS[format];
  const file = out ?? join(".", usual);
  if (!FOLDERS.includes(format)) checkFile(file);
  using model = await openModel(path, { device: "cpu" });
  if (resolve(file) === resolve(model.path))
    throw new UsageError(`--out ${file} is the model itself and would be overwritten; choose another name`);
  const { files, note } = await writeModel(model, file, flags);
  const card = files.find((name) => name.endsWith(".md"));
  const outputs = OUTPUTS.filter((name) => flags[name]);
  if (flags.json) write(`${JSON.stringify({ file, card, format, input, outputs, files, ...(note && { note }) })}\n`);
  else write(`${files.map((name) => `wrote ${name}\n`).join("")}${note ? `${note}\n` : ""}`);
}

/** Writes the model card beside a file, and returns its path. */
async function writeCard(
  model: Model,
  file: string,
  format: "onnx" | "safetensors" | "pytorch",
  flags: ExportFlags,
): Promise<string> {
  const { knownAccuracies, modelCard } = await import("../export/model-card.js");
  const known = knownAccuracies(model.path, model.about);
  const outputs = OUTPUTS.filter((name) => flags[name]);
  const of = { file: basename(file), format, input: flags.input, outputs };
  const text = modelCard({ about: model.about, ...of, known, version: version() });
  replaceFile(`${file}.md`, (put) => put(Buffer.from(text)));
  return `${file}.md`;
}
