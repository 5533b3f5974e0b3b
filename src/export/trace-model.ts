/** Traces the prediction of a model, from its input to logits, features and the other requested outputs. */

import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { temperatureOf } from "../model/about.js";
import { distancePercentiles } from "../model/domain-distance.js";
import type { Model } from "../model/index.js";
import { type Trace, trace } from "./trace.js";

/** The input and the outputs. */
export interface TracedPorts {
  /**
   * `normalised` (default): float32 [batch, channels, height, width], preprocessed as described by `preprocessing` in
   * the metadata. `pixels`: uint8 [batch, height, width, 3], the pixels of pictures of exactly this size.
   */
  input?: "normalised" | "pixels";
  /** Adds the output `probabilities`: softmax(logits / temperature). */
  probabilities?: boolean;
  /** Adds the output `percentile`: the percentage of validation pictures that are nearer to the training domains. */
  percentile?: boolean;
  /** The only output is `logits`, divided by the temperature, for programs that apply the softmax themselves. */
  calibratedOnly?: boolean;
}

/** Traces a model. The caller disposes of the trace. */
export function traceModel(model: Model, ports: TracedPorts = {}): Trace {
  const sample = ports.input === "pixels" ? pixelsFor(model) : samplesFor(model);
  return trace(model.network.modules, sample, (x) => forward(model, x, ports));
}

/** The traced function, from the input of the file to its outputs. */
function forward(model: Model, x: Tensor, ports: TracedPorts): Record<string, Tensor> {
  const { input, probabilities, percentile, calibratedOnly } = ports;
  const { logits, features } = model.forward(input === "pixels" ? normalised(model, x) : x);
  if (calibratedOnly) return { logits: logits.div(temperatureOf(model.about)) };
  const statistics = model.distanceStatistics;
  return {
    logits,
    features,
    ...(probabilities && { probabilities: logits.div(temperatureOf(model.about)).softmax(1) }),
    ...(percentile && statistics && { percentile: distancePercentiles(statistics, features) }),
  };
}

const samplesFor =
  ({ about }: Model) =>
  (count: number): Tensor =>
    new Random(0, ["export"]).normal_(empty([count, ...about.preprocessing.inputShape]));

const pixelsFor =
  ({ about }: Model) =>
  (count: number): Tensor => {
    const [channels, height, width] = about.preprocessing.inputShape;
    const bytes = Uint8Array.from({ length: count * height * width * channels }, (_, i) => (i * 37) & 255);
    return tensor(bytes, { shape: [count, height, width, channels] });
  };

/** Converts bytes with channels last to the input of the network: (p/255 − mean)/std, channels first. */
function normalised({ about: { preprocessing } }: Model, pixels: Tensor): Tensor {
  const { mean, std } = preprocessing as { mean: readonly number[]; std: readonly number[] };
  const perChannel = (values: readonly number[]): Tensor => tensor(values).view(1, -1, 1, 1);
  return pixels
    .toDType("float32")
    .permute([0, 3, 1, 2])
    .mul(perChannel(std.map((each) => 1 / (255 * each))))
    .add(perChannel(mean.map((each, i) => -each / std[i])));
}
