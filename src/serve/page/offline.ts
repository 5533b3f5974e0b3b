/**
 * The program of a folder that `nudge export --format web` writes: the model runs in the browser, in onnxruntime-web.
 * Pictures are decoded by the browser, and resized by the arithmetic of `nudge predict` and not by a canvas.
 */

import type { OfflineModel } from "../offline-model.js";
import { framedPixels } from "./framed-pixels.js";
import { showPredictions, TOP } from "./predictions.js";

/** The part of onnxruntime-web that the page uses. */
interface Runtime {
  readonly env: { readonly wasm: { numThreads?: number; wasmPaths?: { wasm: string } } };
  readonly InferenceSession: { create(model: string): Promise<Session> };
  readonly Tensor: new (type: "uint8", data: Uint8Array, shape: readonly number[]) => object;
}
interface Session {
  run(inputs: Readonly<Record<string, object>>): Promise<Readonly<Record<string, { readonly data: Float32Array }>>>;
}

const here = (name: string): string => new URL(name, document.baseURI).href;
const model = JSON.parse(document.getElementById("model")!.textContent!) as OfflineModel;

async function start(): Promise<{ runtime: Runtime; session: Session }> {
  const runtime = (await import(here("ort/ort.wasm.bundle.min.mjs"))) as Runtime;
  runtime.env.wasm.numThreads = 1; // more need headers that a static host may not send
  runtime.env.wasm.wasmPaths = { wasm: here("ort/ort-wasm-simd-threaded.wasm") };
  return { runtime, session: await runtime.InferenceSession.create(here("model.onnx")) };
}

const started = start();

/** The pixels of a picture file as it is displayed, without a conversion of colors. */
async function decoded(file: File) {
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none", premultiplyAlpha: "none" }).catch(
    (cause: unknown) => {
      throw new Error("this browser cannot read the file as a picture", { cause });
    },
  );
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true })!;
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data: rgba } = context.getImageData(0, 0, width, height);
  const data = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i++)
    for (let channel = 0; channel < 3; channel++) data[3 * i + channel] = rgba[4 * i + channel];
  return { data, width, height };
}

showPredictions({
  promise: "They stay in this browser.",
  atOnce: 1,
  async facts() {
    await started.catch((cause: unknown) => {
      throw new Error(`The model cannot be loaded: ${(cause as Error).message}`, { cause });
    });
    return model;
  },
  async predict(file) {
    const { runtime, session } = await started;
    const { size } = model.framing;
    const pixels = framedPixels(await decoded(file), model.framing);
    const outputs = await session.run({ pixels: new runtime.Tensor("uint8", pixels, [1, size, size, 3]) });
    const top = Array.from(outputs.probabilities.data, (probability, i) => ({ label: model.classes[i], probability }))
      .sort((a, b) => b.probability - a.probability)
      .slice(0, TOP);
    const [{ label, probability }] = top;
    const distance = outputs.percentile ? { percentile: outputs.percentile.data[0] } : null;
    return { class: label, probability, top, distance, truncated: false, unknown: unknownOf(probability, distance) };
  },
});

function unknownOf(probability: number, distance: { readonly percentile: number } | null): "far" | "uncertain" | null {
  const { unknown } = model;
  if (distance && unknown.distance !== null && distance.percentile > unknown.distance) return "far";
  return unknown.probability !== null && probability < unknown.probability ? "uncertain" : null;
}
