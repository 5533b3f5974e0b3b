/** Exports models for other programs. */

export { exportOnnx, type OnnxOptions } from "./export-onnx.js";
export { exportSafetensors } from "./export-safetensors.js";
export { exportHuggingFace, type HuggingFaceFiles, type HuggingFaceOptions } from "./hugging-face.js";
export { type KnownAccuracy, knownAccuracies, type ModelCard, modelCard } from "./model-card.js";
export { exportPyTorch } from "./pytorch.js";
