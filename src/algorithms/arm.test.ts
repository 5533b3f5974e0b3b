/** Compares ARM's context network, which combines layers, with its layers one after the other. */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { devices } from "../engine/device.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { withPrecision } from "../nn/precision.js";
import { ContextNetwork } from "./arm.js";

const made = (isTrained: boolean): ContextNetwork => {
  const network = new ContextNetwork(3, 8, isTrained).initialize(new Random(1));
  network.to({ dtype: "float64" });
  return network;
};

/** The mean over groups of `members` pictures of what the layers return, for every picture. */
function oneByOne(network: ContextNetwork, x: Tensor, members: number): Tensor {
  const maps = network.forward(x);
  const groups = maps.reshape(x.rows / members, members, ...maps.shape.slice(1));
  return groups.mean(1, true).expand(groups.shape).reshape(maps.shape);
}

test.each([
  ["contiguous", 2, 2],
  ["channels_last", 2, 2],
  ["channels_last", 3, 3],
  ["channels_last", 4, 6], // one group, because 6 is not divisible by 4
] as const)("in %s layout and groups of %i, the results are those of the layers", (memoryFormat, size, members) => {
  for (const isTrained of [false, true])
    scope(() => {
      const random = new Random(0, ["arm"]);
      const x = random.normal_(empty([6, 3, 10, 9], { dtype: "float64" })).to({ memoryFormat });
      const [own, plain] = [made(isTrained), made(isTrained)];
      for (const training of [true, true, false]) {
        for (const each of [own, plain]) each.train(training);
        const [got, expected] = noGrad(() => [own.meansOf(x, size), oneByOne(plain, x, members)]);
        expectClose(got, expected, { rtol: 1e-12, atol: 1e-12 });
        expect(got.shape).toEqual([6, 1, 10, 9]);
        const statistics = plain.stateDict();
        for (const [name, tensor] of own.stateDict())
          expectClose(tensor, statistics.get(name)!, { rtol: 1e-12, atol: 1e-12, what: name });
      }
      for (const each of [own, plain]) each.dispose();
    });
});

const GPU = devices().find((device) => device !== "cpu");

test.skipIf(!GPU)("on a GPU in bfloat16, results and statistics are those of the layers up to rounding", () => {
  scope(() => {
    const x = new Random(0, ["arm"]).normal_(empty([6, 3, 20, 18])).to({ memoryFormat: "channels_last" });
    const [own, plain] = [false, false].map((isTrained) =>
      new ContextNetwork(3, 64, isTrained).initialize(new Random(1)),
    );
    own.to({ device: GPU! });
    for (const training of [true, true, false]) {
      for (const each of [own, plain]) each.train(training);
      const got = withPrecision("bf16", () => noGrad(() => own.meansOf(x.to({ device: GPU! }), 2)));
      const expected = noGrad(() => oneByOne(plain, x, 2));
      const largest = expected.abs().max().item();
      expectClose(got.to({ device: "cpu", dtype: "float32" }), expected, { rtol: 0, atol: largest / 32 });
      const statistics = plain.stateDict();
      for (const [name, tensor] of own.stateDict())
        expectClose(tensor.to({ device: "cpu" }), statistics.get(name)!, { rtol: 0.02, atol: 0.02, what: name });
    }
    for (const each of [own, plain]) each.dispose();
  });
});
