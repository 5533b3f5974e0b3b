/** Defaults and search ranges of the algorithms, under the reference testbed's names. */

import { expect, test } from "vitest";
import { drawHparams } from "../settings/hparam-draws.js";
import { dann } from "./dann.js";
import { fish } from "./fish.js";
import { algorithms } from "./index.js";
import { irm } from "./irm.js";
import { mixup } from "./mixup.js";
import { mmd } from "./mmd.js";
import { mtl } from "./mtl.js";

// On large datasets; on small ones rates and the generator's weight decay differ (domain-adversarial.test.ts).
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

const REFERENCE: Record<string, Record<string, [value: number | string, range: string]>> = {
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
