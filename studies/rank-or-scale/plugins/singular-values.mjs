/**
 * The nuclear norm in two parts: the largest singular value alone (which, of features that are not centred, is mostly their mean),
 * and all the others. Both are divided by the rows, as the nuclear norm is.
 *
 * The largest comes from 30 power iterations on F·Fᵀ without a graph; with the vectors u and v held fixed, uᵀFv is its value and uvᵀ its
 * gradient. Nothing is read from the device, so updates can be captured.
 */

import { count, defineRegularizer, hparam, noGrad, nuclearNormOf, powerOfTen } from "nudge-dg";

const settings = { warmup: count(101, "steps before the penalty is added") };
const paper = "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper";

/** @param {import("nudge-dg").Tensor} features */
function largest(features) {
  const [u, v] = noGrad(() => {
    const f = features.detach();
    const gram = f.matmul(f.t());
    let u = gram.sum(1, true);
    for (let i = 0; i < 30; i++) {
      u = gram.matmul(u.div(u.norm().add(1e-30)));
    }
    u = u.div(u.norm().add(1e-30)); // [n, 1]
    const v = f.t().matmul(u);
    return [u, v.div(v.norm().add(1e-30))];
  });
  return u.t().matmul(features).matmul(v).sum();
}

export const topSingularValue = defineRegularizer({
  id: "top-singular-value",
  title: "TOP",
  paper,
  hparams: { weight: hparam(0.05, powerOfTen(-2.5, -0.5)) },
  settings,
  penalty: ({ features }) => largest(features).div(features.rows),
});

export const lowerSingularValues = defineRegularizer({
  id: "lower-singular-values",
  title: "LOWER",
  paper,
  hparams: { weight: hparam(0.01, powerOfTen(-2.5, -1)) },
  settings,
  penalty({ features, step, notice, watch }) {
    const options = { notice, watch, deferred: watch !== undefined, what: `the features at step ${step}` };
    return nuclearNormOf(features, options).sub(largest(features)).div(features.rows);
  },
});
