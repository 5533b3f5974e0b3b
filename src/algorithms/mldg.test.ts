import { expect, test } from "vitest";
import { Mlp } from "../backbones/index.js";
import type { HparamValue } from "../hparams.js";
import { Learner } from "../training/learner.js";
import { mldg } from "./mldg.js";

function build(domains: number, hparams: Record<string, HparamValue>): void {
  const makeBackbone = () => new Mlp({ inputShape: [2], width: 2 });
  new Learner({ algorithm: mldg, makeBackbone, classes: 2, domains, hparams }).dispose();
}

test("MLDG refuses to use all domains as meta-test domains", () => {
  expect(() => build(2, { pairing: "meta-test" })).toThrow(
    "MLDG with pairing=meta-test needs from 1 to 1 meta-test domains when it trains on 2, got nMetaTest=2",
  );
  build(2, { pairing: "meta-test", nMetaTest: 1 });
  build(2, {});
});

test("MLDG refuses a single domain, and a pairing it does not know", () => {
  expect(() => build(1, {})).toThrow("MLDG needs at least 2 training domains, got 1");
  expect(() => build(3, { pairing: "cyclical" })).toThrow('unknown pairing of MLDG "cyclical": did you mean "cyclic"?');
});
