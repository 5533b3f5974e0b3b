/** Tests which networks MixStyle, MIRO and ARM's additional channel work with. */

import { expect, test } from "vitest";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { type Backbone, backboneNamed } from "../backbones/index.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import type { HparamValue } from "../hparams.js";
import { Learner } from "../training/learner.js";
import type { AlgorithmDefinition, Minibatch } from "./algorithm.js";
import { arm } from "./arm.js";
import { keyedDraws } from "./draws.js";
import { miro } from "./miro.js";
import { mixStyle } from "./mix-style.js";

interface Options {
  backbone?: string;
  inputShape?: readonly number[];
  domains?: number;
  hparams?: Record<string, HparamValue>;
}

/** Creates a learner whose draws always select mixing, and records their names. */
function learnerOf(
  algorithm: AlgorithmDefinition,
  { backbone = "toy-cnn", inputShape, domains = 2, hparams }: Options,
) {
  const coins: string[] = [];
  const learner = new Learner({
    algorithm,
    makeBackbone: (): Backbone => backboneNamed(backbone).build({ inputShape }).initialize(new Random(1)),
    classes: 2,
    domains,
    hparams,
    drawsAt: (step) => ({
      ...keyedDraws(new Random(0, [step])),
      uniform(name) {
        coins.push(name);
        return 0;
      },
    }),
  });
  return { learner, coins };
}

const samples = (shape: readonly number[], domain: number, rows = 2): Minibatch => ({
  x: formulaTensor(`x ${domain}`, [rows, ...shape]),
  y: tensor(
    Array.from({ length: rows }, (_, i) => i % 2),
    { dtype: "int64" },
  ),
});

test.each([
  ["resnet18", [3, 64, 64], 3],
  ["mobilenet_v2", [3, 64, 64], 3],
  ["wide-resnet-16-2", [3, 32, 32], 1],
  ["toy-cnn", [3, 8, 8], 2],
])("on %s of %j MixStyle mixes after %i stages, in training only", (backbone, inputShape, stages) => {
  scope(() => {
    const { learner, coins } = learnerOf(mixStyle, { backbone, inputShape });
    const { loss } = learner.update([samples(inputShape, 0), samples(inputShape, 1)], 0);
    expect(loss).toBeGreaterThan(0);
    expect(coins).toEqual(new Array(stages).fill("coin"));
    learner.predict(samples(inputShape, 2).x);
    expect(coins).toHaveLength(stages);
    learner.dispose();
  });
});

test.each(["resnet18", "mobilenet_v2"])("on %s MIRO trains, and its frozen network stays as it was", (backbone) => {
  scope(() => {
    const { learner } = learnerOf(miro, { backbone, inputShape: [3, 64, 64], hparams: { lr: 1e-4 } });
    const values = (prefix: string) =>
      [...learner.stateDict()].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value.detach().clone());
    const [frozen, trained] = [values("frozen."), values("backbone.")];
    expect(frozen.every((value, i) => value.equal(trained[i]))).toBe(true);
    const batch = [samples([3, 64, 64], 0), samples([3, 64, 64], 1)];
    const first = learner.update(batch, 0);
    const second = learner.update(batch, 1);
    // At the start the two networks are equal, and ½·ln 0.1 remains for each of the five stages.
    expect(first.reg_loss).toBeCloseTo(2.5 * Math.log(0.1), 4);
    expect(second.reg_loss).not.toBe(first.reg_loss);
    expect(values("frozen.").every((value, i) => value.equal(frozen[i]))).toBe(true);
    expect(values("backbone.").some((value, i) => !value.equal(trained[i]))).toBe(true);
    learner.dispose();
  });
});

test("MIRO's variances start at 0.1, and block leaves out the stem's", () => {
  const start = (stages: string): Tensor[] => {
    const { learner } = learnerOf(miro, { hparams: { stages } });
    const biases = [...learner.stateDict()].filter(([key]) => key.startsWith("variances."));
    const copies = biases.map(([, value]) => value.detach().clone());
    learner.dispose();
    return copies;
  };
  scope(() => {
    const biases = start("stem_block");
    expect(biases.map(({ shape }) => shape)).toEqual([4, 4, 6, 8].map((channels) => [1, channels, 1, 1]));
    for (const bias of biases) for (const value of bias.toNumbers()) expect(value).toBeCloseTo(-2.2522735, 6);
    expect(start("block").map(({ shape }) => shape[1])).toEqual([4, 6, 8]);
  });
});

test("an algorithm refuses a backbone, number of domains or picture size that it cannot use, with the reason", () => {
  expect(() => learnerOf(mixStyle, { backbone: "mlp", inputShape: [4] })).toThrow(
    "MixStyle needs a backbone with intermediate maps, such as resnet18 or mobilenet_v2",
  );
  expect(() => learnerOf(miro, { backbone: "mnist-cnn" })).toThrow("MIRO needs a backbone with intermediate maps");
  expect(() => learnerOf(arm, { backbone: "mlp", inputShape: [4] })).toThrow("ARM works on pictures");
  expect(() => learnerOf(mixStyle, { domains: 1, hparams: { mixing: "cross-domain" } })).toThrow(
    "MixStyle with mixing=cross-domain needs at least 2 training domains, got 1",
  );
  scope(() => {
    const { learner } = learnerOf(mixStyle, { inputShape: [3, 2, 2], domains: 1 });
    expect(() => learner.update([samples([3, 2, 2], 0)], 0)).toThrow("a map of one position has no deviation");
    learner.dispose();
    const crossing = learnerOf(mixStyle, { hparams: { mixing: "cross-domain" } }).learner;
    expect(() => crossing.update([samples([3, 8, 8], 0, 1), samples([3, 8, 8], 1, 2)], 0)).toThrow(
      "needs at least 2 samples of each domain, got 1 and 2",
    );
    crossing.dispose();
  });
});
