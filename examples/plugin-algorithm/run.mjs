/** Trains spectral decoupling with the nuclear norm on points of three domains: `node examples/plugin-algorithm/run.mjs`. */

import { Learner, Mlp, nuclearNorm, Random, scope, tensor } from "nudge-dg";
import { spectralDecoupling } from "./spectral-decoupling.mjs";

const DOMAINS = 3;
const SAMPLES = 32;

/** Points in the plane: the sign of the first coordinate is the class, and each domain is shifted along the second.
 * @param {number} step @param {number} domain */
function minibatch(step, domain) {
  const random = new Random(0, ["points", step, domain]).host();
  const points = Array.from({ length: SAMPLES }, () => [random.uniform(-1, 1), random.uniform(-1, 1) + domain]);
  return { x: tensor(points), y: tensor(points.map(([first]) => Number(first > 0)), { dtype: "int64" }) }; // biome-ignore format: one pair
}

const learner = new Learner({
  algorithm: spectralDecoupling,
  makeBackbone: () => new Mlp({ inputShape: [2], width: 16 }).initialize(new Random(0, ["backbone"])),
  classes: 2,
  domains: DOMAINS,
  hparams: { lr: 5e-3, penaltyWeight: 0.01 },
  regularizers: [nuclearNorm({ weight: 0.01, warmup: 0 })],
});

for (let step = 0; step < 100; step++) {
  const { loss, penalty } = scope(() =>
    learner.update(
      Array.from({ length: DOMAINS }, (_, domain) => minibatch(step, domain)),
      step,
    ),
  );
  if (step % 20 === 0) console.log(`step ${step}: loss ${loss.toFixed(3)}, mean squared logit ${penalty.toFixed(3)}`);
}

/** The accuracy on a domain that was not used for training. */
const accuracy = scope(() => {
  const { x, y } = minibatch(0, DOMAINS);
  const labels = y.toNumbers();
  const right = learner
    .predict(x)
    .argmax(1)
    .toNumbers()
    .filter((label, i) => label === labels[i]);
  return right.length / labels.length;
});
console.log(`accuracy on an unseen domain: ${accuracy.toFixed(2)}`);
learner.dispose();
