/** The page of `nudge serve`: its server predicts the pictures. */

import type { ModelFacts, PredictedPicture, UnreadablePicture } from "../api.js";
import { showPredictions, TOP } from "./predictions.js";

showPredictions({
  promise: "They stay on this machine.",
  atOnce: 8,
  async facts() {
    const response = await reached(fetch("/model"), "The server does not respond. Was it stopped?");
    return (await response.json()) as ModelFacts;
  },
  async predict(file) {
    const request = fetch(`/predict?top=${TOP}`, { method: "POST", body: file });
    const response = await reached(request, "the server does not respond; was it stopped?");
    if (response.ok) return (await response.json()) as PredictedPicture;
    if (response.status === 422) throw new Error(((await response.json()) as UnreadablePicture).problem);
    throw new Error((await response.text()).trim());
  },
});

/** The response of the server, or an error with this message. */
async function reached(response: Promise<Response>, message: string): Promise<Response> {
  try {
    return await response;
  } catch (cause) {
    throw new Error(message, { cause });
  }
}
