import { expect, test } from "vitest";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { LinearMap } from "../backbones/index.js";
import { zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { Learner } from "../training/learner.js";
import { sam } from "./sam.js";

test("a zero gradient causes no update, instead of 0/0", () => {
  using learner = new Learner({
    algorithm: sam,
    makeBackbone: () => new LinearMap({ inputShape: [3], width: 2 }).initialize(new Random(0)),
    classes: 1, // with one class, the cross-entropy is 0 for all logits
    domains: 1,
    hparams: { lr: 0.1 },
  });
  const values = () => [...learner.stateDict().values()].map((value) => value.toNumbers());
  const before = values();
  scope(() => {
    const logs = learner.update([{ x: formulaTensor("x", [4, 3]), y: zeros([4], { dtype: "int64" }) }], 0);
    expect(logs.loss).toBe(0);
  });
  expect(values()).toEqual(before);
});
