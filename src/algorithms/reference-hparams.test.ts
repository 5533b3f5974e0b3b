/** Defaults and search ranges of the algorithms, with DomainBed's names. */

import { expect, test } from "vitest";
import { drawHparams } from "../settings/hparam-draws.js";
import { hparamsOn } from "./algorithm.js";
import { dann } from "./dann.js";
import { fish } from "./fish.js";
import { algorithms } from "./index.js";
import { irm } from "./irm.js";
import { mixup } from "./mixup.js";
import { mmd } from "./mmd.js";
import { mtl } from "./mtl.js";
import { sharedHparams } from "./shared-hparams.js";

// These are for large datasets. The rates and the generator's weight decay differ on small ones
// (domain-adversarial.test.ts).
const ADVERSARIAL: Record<string, [number, string]> = {
  lambda: [1, "10^U(-2, 2)"],
  weight_decay_d: [0, "10^U(-6, -2)"],
  d_steps_per_g_step: [1, "int(2^U(0, 3))"],
  grad_penalty: [0, "10^U(-2, 1)"],
  beta1: [0.5, "{0, 0.5}"],
  mlp_width: [256, "int(2^U(6, 10))"],
  mlp_depth: [3, "{3, 4, 5}"],
  mlp_dropout: [0, "{0, 0.1, 0.5}"],
  lr_g: [5e-5, "10^U(-5, -3.5)"],
  lr_d: [5e-5, "10^U(-5, -3.5)"],
  weight_decay_g: [0, "10^U(-6, -2)"],
};

type Searched = Record<string, [value: number | string | boolean, range: string]>;

const BOTTLENECK: Searched = {
  ib_lambda: [100, "10^U(-1, 5)"],
  ib_penalty_anneal_iters: [500, "int(10^U(0, 4))"],
};
const CONTRAST: Searched = {
  lmbda: [0.1, "{0.0001, 0.001, 0.01, 0.1, 1, 10, 100}"],
  temperature: [0.1, "{0.05, 0.1}"],
  is_normalized: [false, "{false}"],
  is_project: [false, "{false}"],
  is_flipped: [true, "{true}"],
};

const REFERENCE: Record<string, Searched> = {
  mixup: { mixup_alpha: [0.2, "10^U(-1, 1)"] },
  "group-dro": { groupdro_eta: [0.01, "10^U(-3, -1)"] },
  vrex: { vrex_lambda: [10, "10^U(-1, 5)"], vrex_penalty_anneal_iters: [500, "int(10^U(0, 4))"] },
  irm: { irm_lambda: [100, "10^U(-1, 5)"], irm_penalty_anneal_iters: [500, "int(10^U(0, 4))"] },
  mmd: { mmd_gamma: [1, "10^U(-1, 1)"] },
  coral: { mmd_gamma: [1, "10^U(-1, 1)"] },
  mtl: { mtl_ema: [0.99, "{0.5, 0.9, 0.99, 1}"] },
  rsc: { rsc_f_drop_factor: [1 / 3, "U(0, 0.5)"], rsc_b_drop_factor: [1 / 3, "U(0, 0.5)"] },
  fishr: {
    lambda: [1000, "10^U(1, 4)"],
    penalty_anneal_iters: [1500, "int(U(0, 5000))"],
    ema: [0.95, "U(0.9, 0.99)"],
  },
  "self-reg": {},
  sam: { rho: [0.05, "{0.01, 0.02, 0.05, 0.1}"] },
  sagm: { rho: [0.05, "{0.01, 0.02, 0.05, 0.1}"], alpha: [0.001, "{0.01, 0.02, 0.05, 0.1}"] },
  dann: ADVERSARIAL,
  cdann: ADVERSARIAL,
  fish: { meta_lr: [0.5, "{0.05, 0.1, 0.5}"] },
  mldg: { mldg_beta: [1, "10^U(-1, 1)"], n_meta_test: [2, "{1, 2}"] },
  "sag-net": { sag_w_adv: [0.1, "10^U(-2, 1)"] },
  mdsdi: {},
  "mix-style": {},
  arm: {},
  miro: { ld: [0.1, "{1, 0.1, 0.01, 0.001}"], lr_mult: [10, "{10}"], feat_layers: ["stem_block", "{stem_block}"] },
  "and-mask": { tau: [1, "U(0.5, 1)"] },
  "erm-plus-plus": { linear_lr: [5e-5, "10^U(-5, -3.5)"], linear_steps: [500, "{500}"], lars: [false, "{false}"] },
  sd: { sd_reg: [0.1, "10^U(-5, -1)"] },
  "sand-mask": { tau: [1, "U(0, 1)"], k: [10, "10^U(-3, 5)"] },
  iga: { penalty: [1000, "10^U(1, 5)"] },
  trm: { cos_lambda: [1e-4, "10^U(-5, 0)"], iters: [200, "int(10^U(0, 4))"], groupdro_eta: [0.01, "10^U(-3, -1)"] },
  "ib-erm": BOTTLENECK,
  "ib-irm": { irm_lambda: [100, "10^U(-1, 5)"], irm_penalty_anneal_iters: [500, "int(10^U(0, 4))"], ...BOTTLENECK },
  cad: CONTRAST,
  "cond-cad": CONTRAST,
  transfer: {
    t_lambda: [1, "10^U(-2, 1)"],
    delta: [2, "U(0.1, 3)"],
    d_steps_per_g: [10, "{1, 2, 5}"],
    lr_d: [1e-3, "10^U(-4.5, -2.5)"],
    gda: [false, "{true}"],
  },
  "causirl-coral": { mmd_gamma: [1, "10^U(-1, 1)"] },
  "causirl-mmd": { mmd_gamma: [1, "10^U(-1, 1)"] },
  eqrm: {
    eqrm_quantile: [0.75, "U(0.5, 0.99)"],
    eqrm_burnin_iters: [2500, "10^U(2.5, 3.5)"],
    eqrm_lr: [1e-6, "10^U(-7, -5)"],
  },
  rdm: {
    rdm_lambda: [5, "U(0.1, 10)"],
    rdm_penalty_anneal_iters: [1500, "int(U(800, 2700))"],
    variance_weight: [0.004, "U(0.001, 0.007)"],
    rdm_lr: [1.5e-5, "U(0.000008, 0.00002)"],
  },
  adrmx: {
    cnt_lambda: [1, "{1}"],
    dclf_lambda: [1, "{1}"],
    disc_lambda: [0.75, "{0.75}"],
    rmxd_lambda: [1, "{1}"],
    d_steps_per_g_step: [2, "{2}"],
    beta1: [0.5, "{0.5}"],
    mlp_width: [256, "{256}"],
    mlp_depth: [9, "{8, 9, 10}"],
    mlp_dropout: [0, "{0}"],
  },
  urm: {
    urm_adv_lambda: [0.1, "U(0, 0.2)"],
    urm_discriminator_label_smoothing: [0, "{0}"],
    urm_discriminator_hidden_layers: [1, "{1, 2, 3}"],
    urm_generator_output: ["tanh", "{tanh, relu}"],
    urm_discriminator_lr: [5e-5, "10^U(-6, -4.5)"],
    urm_discriminator_optimizer: ["adam", "{adam}"],
  },
};

test.for(Object.keys(REFERENCE))("%s has the reference's hyperparameters, and settings that are not searched", (id) => {
  const own = Object.values(algorithms[id].hparams);
  const searched = own.filter(({ reference }) => reference !== undefined);
  expect(Object.fromEntries(searched.map((each) => [each.reference, [each.default, each.range.text]]))).toEqual(
    REFERENCE[id],
  );
  for (const each of own) if (!searched.includes(each)) expect(each.range.text).toBe(`{${each.default}}`);
});

test("a search draws the reference's values", () => {
  const seeds = { hparamsSeed: 1, trialSeed: 0 };
  const { penaltyWeight, annealSteps } = drawHparams(irm.hparams, seeds);
  expect(String(penaltyWeight)).toMatch(/^65030\.522/);
  expect(annealSteps).toBe(2);
  expect(String(drawHparams(mixup.hparams, seeds).alpha)).toMatch(/^0\.631349/);
  expect(String(drawHparams(mmd.hparams, seeds).gamma)).toMatch(/^1\.422757/);
  expect(drawHparams(mtl.hparams, seeds).ema).toBe(0.99);
  expect(String(drawHparams(dann.hparams, seeds).lambda)).toMatch(/^3\.500347/);
  expect(drawHparams(fish.hparams, seeds).metaLr).toBe(0.5);
});

// Computed with DomainBed's registry, revision b93c22a, for the hparams seed 1 and the trial seed 0.
const DRAWN: Record<string, Record<string, number | string | boolean>> = {
  "erm-plus-plus": { headLr: 2.7696524e-5, headSteps: 500, lars: false },
  sd: { penaltyWeight: 3.2197228e-4 },
  "sand-mask": { tau: 0.3934322276, k: 1109.9255082 },
  iga: { penaltyWeight: 2400.0170308 },
  trm: { cosWeight: 2.221778e-5, startSteps: 16, eta: 0.0129760687 },
  "ib-erm": { bottleneckWeight: 2.661822006, bottleneckSteps: 1222 },
  cad: { lambda: 0.1, temperature: 0.05, flip: true },
  transfer: { lambda: 0.2653522594, delta: 2.7022121438, adversarySteps: 1, adversaryLr: 6.7007713e-5, gda: true },
  "causirl-mmd": { gamma: 1.4227570299 },
  eqrm: { quantile: 0.7335553272, burnInSteps: 423.2761238, quantileLr: 4.3778153e-6 },
  urm: { lambda: 0.1595284974, activation: "relu", discriminatorLayers: 1, discriminatorLr: 2.5572176e-5 },
  adrmx: { mlpDepth: 9, beta1: 0.5 },
};

test.for(Object.entries(DRAWN))("a search of %s draws the reference's values", ([id, expected]) => {
  const drawn = drawHparams(hparamsOn("large", algorithms[id]), { hparamsSeed: 1, trialSeed: 0 }) as typeof expected;
  for (const [name, value] of Object.entries(expected)) {
    if (typeof value === "number") expect((drawn[name] as number) / value, name).toBeCloseTo(1, 7);
    else expect(drawn[name], name).toBe(value);
  }
});

test("RDM's and ADRMX's draws depend on the dataset as the reference's do", () => {
  const drawn = (id: string, dataset: string, size: "small" | "large") => {
    const algorithm = algorithms[id];
    const shared = sharedHparams({ dataset, size, overrides: [algorithm.overrides] });
    const all = { ...shared, ...hparamsOn(size, algorithm, dataset) };
    return drawHparams(all, { hparamsSeed: 1, trialSeed: 0 }) as unknown as Record<string, number>;
  };
  const [pacs, vlcs, domainNet] = ["pacs", "vlcs", "domain-net"].map((dataset) => drawn("rdm", dataset, "large"));
  expect(pacs.matchingWeight).toBeCloseTo(9.3756228134, 7);
  expect(vlcs.matchingWeight).toBeCloseTo(9.3131850947, 7);
  expect(domainNet.matchingWeight).toBeCloseTo(0.9375622813, 7);
  expect([pacs, domainNet].map(({ annealSteps }) => annealSteps)).toEqual([1092, 1730]);
  expect([pacs, domainNet].map(({ batchSize }) => batchSize)).toEqual([97, 57]);
  expect(pacs.varianceWeight).toBeCloseTo(0.0046856303, 9);
  expect([domainNet, drawn("rdm", "office-home", "large")].map((each) => each.varianceWeight)).toEqual([0, 0]);
  expect(pacs.matchingLr).toBeCloseTo(1.5055123e-5, 11);
  expect(drawn("adrmx", "pacs", "large").lr).toBe(3e-5);
  expect(drawn("urm", "rotated-mnist", "small").discriminatorLr).toBeCloseTo(2.3824488e-4, 10);
});
