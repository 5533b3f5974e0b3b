/** The nuclear norm and its gradient by every route against torch.svd and its backward pass (tests/vectors/nuclear_norm.py). */

import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { DType } from "../../src/engine/dtype.js";
import { scope } from "../../src/engine/scope.js";
import type { Tensor } from "../../src/engine/tensor.js";
import { readWeights } from "../../src/engine/weights.js";
import { centredNuclearNorm, frobeniusNorm, nuclearNorm, nuclearNormOf } from "../../src/regularizers/index.js";
import { polarRoutes } from "../../src/regularizers/polar.js";
import { expectClose } from "../support/close.js";

const VECTORS = fileURLToPath(new URL("../vectors/nuclear-norm.safetensors", import.meta.url));

/** What float64 leaves to torch.svd, and what float32 features leave to anyone. */
const TOLERANCES = { float64: { rtol: 1e-7, atol: 1e-8 }, float32: { rtol: 1e-5, atol: 1e-5 } } as const;

const linearMap = (stored: Map<string, Tensor>, name: string, dtype: DType) => {
  const x = stored.get(`${name}/x`)!.to({ dtype });
  const w = stored.get(`${name}/w`)!.to({ dtype }).detach().requiresGrad_();
  return { w, features: x.mm(w.t()) };
};

describe.each(["wide", "tall", "square", "one-row"])("%s features", (name) => {
  for (const route of polarRoutes) {
    for (const dtype of ["float64", "float32"] as const) {
      test(`the ${route} route in ${dtype} gives torch.svd's value and gradients`, () =>
        scope(() => {
          const stored = readWeights(VECTORS);
          const { w, features } = linearMap(stored, name, dtype);
          features.retainGrad();
          const norm = nuclearNormOf(features, { route });
          norm.backward();
          const tolerance = TOLERANCES[dtype];
          expect(norm.dtype).toBe(dtype);
          expectClose(norm, stored.get(`${name}/norm`)!, { ...tolerance, what: "norm" });
          expectClose(features.grad!, stored.get(`${name}/gradient/features`)!, { ...tolerance, what: "features" });
          expectClose(w.grad!, stored.get(`${name}/gradient/w`)!, { ...tolerance, what: "w" });
        }));
    }
  }

  test("the three penalties equal torch's norms over the rows, times the weight", () =>
    scope(() => {
      const stored = readWeights(VECTORS);
      const { features } = linearMap(stored, name, "float64");
      const penalties = [
        [nuclearNorm, "norm"],
        [centredNuclearNorm, "norm/centred"],
        [frobeniusNorm, "norm/frobenius"],
      ] as const;
      for (const [define, key] of penalties) {
        const term = define({ weight: 0.03 }).term({ features, step: 101 })!;
        const expected = (0.03 * stored.get(`${name}/${key}`)!.item()) / features.rows;
        expectClose([term.item()], [expected], { rtol: 1e-12, atol: 1e-14, what: key });
      }
    }));
});
