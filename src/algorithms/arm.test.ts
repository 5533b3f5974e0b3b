/** Compares ARM's context network, which combines layers, with its layers one after the other. */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { empty } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
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
