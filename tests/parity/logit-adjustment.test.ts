/**
 * A term that depends on how frequent classes are: `nudge parity` must see an error in it. It did not when recorded minibatches
 * had as many samples of each class, where a logit adjustment changes no loss.
 */

import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { defineAlgorithm } from "../../src/algorithms/algorithm.js";
import { parityCommand } from "../../src/cli/parity.js";
import { hparam, uniform } from "../../src/hparams.js";
import { register } from "../../src/library/register.js";
import { crossEntropy } from "../../src/nn/index.js";

const VECTORS = fileURLToPath(new URL("../vectors/parity_logit_adjustment.safetensors", import.meta.url));

/** The error of a port: 1 is none. */
let mistake = 1;

register(
  defineAlgorithm({
    id: "logit-adjustment",
    title: "Logit adjustment",
    paper: "Menon et al., 2021, https://arxiv.org/abs/2007.07314",
    needsDomains: false,
    hparams: { adjustment: hparam(1, uniform(0, 2)) },
    build: ({ backbone, classifier, classes, hparams: { adjustment } }) => ({
      modules: { backbone, classifier },
      step({ x, y }) {
        const features = backbone.forward(x);
        const logits = classifier.forward(features);
        const prior = y.oneHot(classes).toDType(x.dtype).mean([0]).log();
        const loss = crossEntropy(logits.add(prior.mul(adjustment * mistake)), y);
        return { loss, features, logits, logs: { loss } };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    }),
  }),
);

async function parity(): Promise<string> {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  await parityCommand(write).exitOverride().parseAsync([VECTORS], { from: "user" });
  return text;
}

afterEach(() => {
  process.exitCode = undefined;
  mistake = 1;
});

test("an exact port of a logit adjustment is within 1e-9, and only what comes later is not tested", async () => {
  const text = await parity();
  expect(text).toContain("The case is within 1e-9.");
  expect(text).toMatch(/What these cases cannot show:\n- nothing after update 5 is tested, .*\n$/);
});

test.each([50, 1.001])("a logit adjustment multiplied by %d is caught", async (factor) => {
  mistake = factor;
  expect(await parity()).toContain("1 of 1 cases differ by more than 1e-9");
  expect(process.exitCode).toBe(1);
});
