import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { formulaTensor } from "../../tests/support/formula-weights.js";
import { cat } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { BatchNorm1d, Layer, Linear } from "../nn/index.js";
import { featuresByDomain, lossByDomain, rowsByDomain } from "./domain-parts.js";

class CountingNet extends Layer {
  runs = 0;
  readonly linear = new Linear(3, 4);
  readonly norm = new BatchNorm1d(4);

  forward(x: Tensor): Tensor {
    this.runs++;
    return this.norm.forward(this.linear.forward(x));
  }
}

function makeBatch() {
  const domains = [2, 4, 3].map((n, e) => ({
    x: formulaTensor(`domain ${e}`, [n, 3]),
    y: tensor(
      Array.from({ length: n }, (_, i) => i % 4),
      { dtype: "int64" },
    ),
  }));
  return { domains, x: cat(domains.map(({ x }) => x)), y: cat(domains.map(({ y }) => y)) };
}

test.for([
  { norm: "trained", frozen: false, training: true, runs: 3 },
  { norm: "frozen", frozen: true, training: true, runs: 1 },
  { norm: "in evaluation", frozen: false, training: false, runs: 1 },
])("with batch norm $norm each domain has the features it has alone, in $runs run(s)", ({ frozen, training, runs }) => {
  scope(() => {
    using net = new CountingNet().initialize(new Random(0)).train(training);
    net.norm.frozen = frozen;
    const batch = makeBatch();
    const { features, parts } = featuresByDomain(net, batch);
    expect(net.runs).toBe(runs);
    for (const [e, { x }] of batch.domains.entries()) {
      expectClose(parts[e], net.forward(x), { rtol: 1e-5, atol: 1e-6, what: `domain ${e}` });
    }
    expect(features.equal(cat(parts))).toBe(true);
  });
});

test("rows and losses are grouped by domain, for any domain numbers", () => {
  scope(() => {
    const batch = makeBatch();
    expect(rowsByDomain(batch.x, batch).map(({ shape }) => shape)).toEqual([[2, 3], [4, 3], [3, 3]]); // biome-ignore format: shapes
    for (const [e, rows] of rowsByDomain(batch.x, batch).entries()) expect(rows.equal(batch.domains[e].x)).toBe(true);
    const uniform = tensor(Array.from({ length: 9 }, (_, i) => (i < 2 ? [0, 0, 0, 0] : [1, 1, 1, 1])));
    expectClose(lossByDomain(uniform, batch), [Math.log(4), Math.log(4), Math.log(4)], { rtol: 1e-6 });
  });
});
