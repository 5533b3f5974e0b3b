import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { Mlp } from "../backbones/mlp.js";
import { ones } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, tensor } from "../engine/tensor.js";
import { Learner } from "../training/learner.js";
import { mtl } from "./mtl.js";

const backbone = () => new Mlp({ inputShape: [3], width: 4 }).initialize(new Random(1));
const learnerWith = (noise: boolean) =>
  new Learner({ algorithm: mtl, makeBackbone: backbone, classes: 2, domains: 2, hparams: { noise } });
const INPUTS = [[1, 2, 3], [-1, 0, 2], [0.5, 0, 1]]; // biome-ignore format: a row a sample

test("a prediction with noise can be repeated, and differs from one without", () => {
  scope(() => {
    using noisy = learnerWith(true);
    using plain = learnerWith(false);
    const x = tensor(INPUTS);
    const first = noisy.predict(x);
    expect(first.shape).toEqual([3, 2]);
    expect(noisy.predict(x).equal(first)).toBe(true);
    expect(plain.predict(x).equal(first)).toBe(false);
  });
});

test("without noise a prediction uses the mean features of the batch in addition to each sample's features", () => {
  scope(() => {
    using learner = learnerWith(false);
    using features = backbone();
    noGrad(() => {
      const state = learner.stateDict();
      state.get("classifier.bias")!.fill_(0);
      state.get("classifier.weight")!.copy_(ones([2, 8]));
      const z = features.forward(tensor(INPUTS));
      const expected = z.sum(1).add(z.mean(0).sum()); // of each sample, for both classes
      expectClose(learner.predict(tensor(INPUTS)).select(1, 0), expected, { rtol: 1e-5, atol: 1e-6 });
    });
  });
});
