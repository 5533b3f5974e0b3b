/** Predicts the classes of pictures with a trained model: `node examples/use-a-model/predict.mjs runs/…/model.safetensors photo.jpg …`. */

import { loadModel } from "nudge-dg";

/** A person should look at pictures with a larger distance percentile. */
const STRANGE = 95;

/** Prints one line per picture. @param {string} path @param {readonly string[]} pictures */
export async function describe(path, pictures) {
  const model = await loadModel(path);
  try {
    const predictions = await model.predict(pictures, { top: 2 });
    return predictions.map(({ label, probability, distance }, i) => {
      const isStrange = distance !== null && distance.percentile > STRANGE;
      const note = isStrange ? "; unlike the training pictures, look at it" : "";
      return `${pictures[i]}: ${label} (${(100 * probability).toFixed(0)} %)${note}`;
    });
  } finally {
    model.dispose(); // in TypeScript, or with a newer Node: using model = await loadModel(path)
  }
}

if (process.argv[1] === import.meta.filename) {
  const [model, ...pictures] = process.argv.slice(2);
  if (pictures.length === 0) {
    console.error("usage: node predict.mjs MODEL PICTURE …");
    process.exit(2);
  }
  for (const line of await describe(model, pictures)) console.log(line);
}
