/**
 * NU: the nuclear norm of the batch's features, which is the sum of their singular values and a surrogate for their
 * rank.
 *
 * The default is (θ/n)·‖F‖_* from step 101 on with θ = 0.01, as in the official code, which produced the paper's
 * tables. `scaling=sum warmup=0` is the paper's formula λ‖F‖_* (Equation 2), which is about a hundred times as strong
 * at the same weight.
 */

import { hparam, powerOfTen, powerOfTwoInteger } from "../hparams.js";
import { option, word } from "../options.js";
import { featurePenaltySettings, penalised, scaled } from "./feature-penalty.js";
import { nuclearNormOf, polarOptionsAt } from "./nuclear-norm-of.js";
import { polarRoutes } from "./polar.js";
import { defineRegularizer } from "./regularizer.js";

/** Nuclear norm of the batch's features: the sum of their singular values. */
export const nuclearNorm = defineRegularizer({
  id: "nuclear-norm",
  title: "NU",
  paper: "Shi et al., 2023, https://arxiv.org/abs/2303.07527",
  hparams: { weight: hparam(0.01, powerOfTen(-2.5, -1.5), { reference: "theta" }) }, // paper, Section 3.2
  settings: {
    ...featurePenaltySettings,
    route: option(word("auto", ...polarRoutes), "how the polar factor is computed", { default: "auto" }),
  },
  // Paper, Section 3.2: batches of 32 to 63 per domain. The official code uses this range on every dataset except those
  // with 28 × 28 images.
  overrides: { large: { batchSize: hparam(32, powerOfTwoInteger(5, 6), { reference: "batch_size" }) } },

  penalty(input) {
    const { on, route, scaling } = input.settings;
    const matrix = penalised("nuclear-norm", input, on);
    return scaled(nuclearNormOf(matrix, polarOptionsAt(input, route, on)), matrix, scaling);
  },
});
