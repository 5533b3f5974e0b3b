/** Compares the heads of TRM, which are computed together and without gradients, with their definition. */
import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { empty, linear } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import { crossEntropy } from "../nn/index.js";
import type { Batch } from "./algorithm.js";
import { Heads, neumannSums } from "./trm.js";

const [WIDTH, CLASSES] = [6, 4];
const random = new Random(0, ["trm"]);
const normal = (name: string, shape: number[], scale = 1): Tensor =>
  random
    .for(name)
    .normal_(empty(shape, { dtype: "float64" }))
    .mul(scale);

/** Domains with these numbers of samples, as parts of one tensor that requires a gradient. */
function batchOf(rows: readonly number[]): Batch {
  const total = rows.reduce((a, b) => a + b);
  const x = normal("x", [total, WIDTH]).requiresGrad_();
  const y = normal("y", [total, CLASSES]).argmax(1);
  let start = 0;
  const domains = rows.map((count) => {
    start += count;
    const [own, labels] = [x, y].map((each) => each.narrow(0, start - count, count));
    return { x: own, y: labels };
  });
  return { x, y, domains };
}

function headsFor(domains: number): Heads {
  const heads = new Heads(domains, WIDTH, CLASSES).initialize(new Random(1));
  heads.to({ dtype: "float64" });
  return heads;
}

test.each([[[5, 5, 5]], [[5, 3, 7]]])("the heads take 30 steps of SGD on their domains (%j samples)", (rows) => {
  scope(() => {
    const batch = batchOf(rows);
    const heads = headsFor(rows.length);
    const expected = batch.domains.map(({ x, y }, e) => {
      const [weight, bias] = [heads.weight, heads.bias].map((each) => each.select(0, e).clone());
      for (let i = 0; i < 30; i++) {
        for (const each of [weight, bias]) each.requiresGrad_();
        const gradients = grad(crossEntropy(linear(x.detach(), weight, bias), y), [weight, bias]);
        noGrad(() => [weight, bias].map((each, k) => each.sub_(gradients[k], { alpha: 0.1 })));
      }
      return [weight, bias];
    });
    heads.learn(batch.x, batch);
    for (const [e, [weight, bias]] of expected.entries()) {
      expectClose(heads.weight.select(0, e), weight.detach(), { rtol: 1e-12, atol: 1e-12 });
      expectClose(heads.bias.select(0, e), bias.detach(), { rtol: 1e-12, atol: 1e-12 });
    }
    heads.dispose();
  });
});

/** Σ_k (I − H)^k p by double backward, in a plain loop. */
function plainSum(p: Tensor, loss: (weight: Tensor) => Tensor, weight: Tensor, isAliased: boolean): Tensor {
  const times = (v: Tensor): Tensor => {
    const w = weight.detach().clone().requiresGrad_();
    const [gradient] = grad(loss(w), [w], { createGraph: true });
    return grad(gradient.mul(v).sum(), [w])[0];
  };
  let v = p.sub(times(p));
  let sum = (isAliased ? v : p).add(v);
  for (let k = 2; k <= 10 && sum.abs().max().item() <= 10; k++) {
    v = v.sub(times(v));
    sum = sum.add(v);
  }
  return sum;
}

test.each([
  [1, true],
  [1, false],
  [4, true], // (I − H)^k grows: the sums stop at different terms
  [4, false],
  [100, true],
])(
  "the Neumann series is the sum of the powers, up to the term after which it is too large (features × %d)",
  (scale, isAliased) => {
    scope(() => {
      const z = normal("z", [3, 5, WIDTH], scale);
      const weight = normal("weight", [3, CLASSES, WIDTH], 0.3 / scale);
      const p = normal("p", [3, CLASSES, WIDTH], 0.1);
      const y = normal("labels", [3, 5, CLASSES]).argmax(2);
      const sums = neumannSums(p, z, z.bmm(weight.transpose(1, 2)).softmax(2), isAliased);
      for (let q = 0; q < 3; q++) {
        const own = (w: Tensor): Tensor => crossEntropy(z.select(0, q).mm(w.t()), y.select(0, q));
        const expected = plainSum(p.select(0, q), own, weight.select(0, q), isAliased);
        const largest = Math.max(1, expected.abs().max().item());
        expectClose(sums.select(0, q), expected, { rtol: 0, atol: 1e-11 * largest, what: `head ${q}` });
      }
    });
  },
);

test.each([
  [[4, 4, 4], true],
  [[4, 6, 5], true],
  [[4, 6, 5], false],
])("the transfer risk, its gradient and the next weights follow the definition (%j samples)", (rows, isUpdated) => {
  scope(() => {
    const batch = batchOf(rows);
    const { domains } = batch;
    const heads = headsFor(rows.length);
    const [cosWeight, eta] = [0.3, 0.2];
    const before = rows.map((_, q) => rows.map((_, i) => (i === q ? 0 : 1 / (rows.length - 1))));
    const after: number[][] = [];
    let expected: Tensor | undefined;
    for (const [q, row] of before.entries()) {
      const weight = heads.weight.select(0, q).clone().requiresGrad_();
      const bias = heads.bias.select(0, q).clone();
      const losses = domains.map(({ x, y }) => crossEntropy(linear(x, weight, bias), y));
      const others = losses.reduce((sum, loss, i) => sum.add(loss, { alpha: row[i] }), losses[0].mul(0));
      const [along] = grad(losses[q], [weight], { createGraph: true });
      const [p] = grad(others, [weight], { retainGraph: true });
      const own = (w: Tensor): Tensor => crossEntropy(linear(domains[q].x.detach(), w, bias), domains[q].y);
      const u = plainSum(p, own, weight, true).detach();
      after.push(row.map((share, i) => share * Math.exp(eta * share * losses[i].item())));
      const used = isUpdated ? after[q] : row;
      const weighted = losses.reduce(
        (sum, loss, i) => sum.add(loss, { alpha: used[i] }).sub(loss.detach(), { alpha: used[i] - row[i] }),
        losses[0].mul(0),
      );
      const risk = weighted.sub(u.mul(along).sum(), { alpha: cosWeight }).div(rows.length);
      expected = expected ? expected.add(risk) : risk;
    }
    const risk = heads.transferRisk(batch.x, batch, { cosWeight, eta, isAliased: true, isUpdated });
    expect(risk.item()).toBeCloseTo(expected!.item(), 12);
    expectClose(grad(risk, [batch.x])[0], grad(expected!, [batch.x])[0], { rtol: 1e-11, atol: 1e-12 });
    const flat = heads.alpha.toNumbers();
    for (const [i, value] of after.flat().entries()) expect(flat[i]).toBeCloseTo(value, 12);
    heads.dispose();
  });
});
