/**
 * A control for NU: the nuclear norm of the features after the batch mean is subtracted.
 *
 * In real features the mean direction has the largest singular value, so plain NU mostly shrinks the mean. With centred
 * features the penalty depends only on how the samples differ from each other.
 */

import { hparam, powerOfTen } from "../hparams.js";
import { toFullPrecision } from "../nn/precision.js";
import { option, word } from "../options.js";
import { featurePenaltySettings, penalised, scaled } from "./feature-penalty.js";
import { nuclearNormOf, polarOptionsAt } from "./nuclear-norm-of.js";
import { polarRoutes } from "./polar.js";
import { defineRegularizer } from "./regularizer.js";

/** Nuclear norm of the batch's features after their mean is subtracted. */
export const centredNuclearNorm = defineRegularizer({
  id: "centred-nuclear-norm",
  title: "CNU",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  hparams: { weight: hparam(0.01, powerOfTen(-2.5, -1.5)) },
  settings: {
    ...featurePenaltySettings,
    route: option(word("auto", ...polarRoutes), "how the polar factor is computed", { default: "auto" }),
  },

  penalty(input) {
    const { on, route, scaling } = input.settings;
    const matrix = toFullPrecision(penalised("centred-nuclear-norm", input, on));
    const centred = matrix.sub(matrix.mean(0, true));
    return scaled(nuclearNormOf(centred, polarOptionsAt(input, route, on)), matrix, scaling);
  },
});
