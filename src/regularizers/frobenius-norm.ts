/**
 * A control for NU: the Frobenius norm of the features, √Σσ², which shrinks them without preferring a low rank. If NU
 * improves on this penalty at matched strength, the low rank helps. An improvement that both penalties show comes from
 * the smaller scale.
 *
 * Matched strength: ‖F‖_* is between 1 and √rank times ‖F‖_F, so the matching weight is NU's weight times that ratio,
 * which every run logs.
 */

import { hparam, powerOfTen } from "../hparams.js";
import { toFullPrecision } from "../nn/precision.js";
import { featurePenaltySettings, penalised, scaled } from "./feature-penalty.js";
import { defineRegularizer } from "./regularizer.js";

/** Frobenius norm of the batch's features: the square root of the sum of their squared singular values. */
export const frobeniusNorm = defineRegularizer({
  id: "frobenius-norm",
  title: "FRO",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.01, powerOfTen(-2.5, -0.5)) }, // the upper limit is √100 times NU's
  settings: featurePenaltySettings,

  penalty(input) {
    const { on, scaling } = input.settings;
    const matrix = toFullPrecision(penalised("frobenius-norm", input, on));
    return scaled(matrix.norm(), matrix, scaling); // the gradient at zero is zero
  },
});
