/**
 * TRM (transfer risk minimization) learns features for which a head trained on one domain also works on the others.
 * Every domain Q has its own head h_Q, which takes 30 steps of SGD on its domain's features at each update. Then, with
 * S_Q its weighted loss on the other domains,
 *
 *     L = CE(w(z), y) + (1/E) Σ_Q [ S_Q − λ·⟨u_Q, ∇_W CE(h_Q(z_Q), y_Q)⟩ ],   S_Q = Σ_{i≠Q} α_Qi·CE(h_Q(z_i), y_i),
 *
 * where u_Q ≈ H⁻¹∇_W S_Q, with H the Hessian of the head's own loss, is computed by a Neumann series of ten terms. It
 * accounts for how the head depends on the features. α is updated like GroupDRO's weights: α_Qi ← α_Qi·exp(η·α_Qi·CE),
 * and its rows are normalized at the next update. The first `startSteps` updates are ERM. With `classBalanced`, the
 * heads' weights start from the classifier's weights at each update.
 *
 * - `neumann`: in DomainBed the running sum initially shares memory with the vector that is updated in place, so the
 *   term of   order 0 is lost and that of order 1 counts twice (`aliased`). `series` is the intended sum, Σ_{k=0}^{10}
 *   (I − H)^k p. As   in DomainBed, both stop once an element exceeds 10.
 * - `gradientAlpha`: in DomainBed α is changed in place before the backward pass, which reads it from the same memory.
 *   S_Q   then uses the old weights and its gradient the new ones (`updated`). With `used`, both use the same weights.
 *
 * The heads are linear, so gradients and Hessian products have closed forms and no double backward is needed. Their weights
 * change only along the features of the domain: W ← W − Eᵀz for some E [n, classes]. So both loops run on [n, classes] with
 * the Gram matrix zzᵀ instead of on weights, and for all domains at once if they have equally many samples. On a GPU each of their
 * operations takes as long as its launch. Unlike in DomainBed, heads and α are saved with a run. Penalties apply to z.
 */

import { cat, empty, eye, linear, ones, stack } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, powerOfTenInteger, variant } from "../hparams.js";
import { crossEntropy, Linear, Module, StateBuffer, toFullPrecision } from "../nn/index.js";
import { type Batch, defineAlgorithm, type Minibatch } from "./algorithm.js";
import { rowsByDomain } from "./domain-parts.js";
import { variantOf } from "./variant.js";

const SUMS = ["aliased", "series"] as const;
const ALPHAS = ["updated", "used"] as const;
const HEAD_STEPS = 30;
const HEAD_LR = 0.1;
const TERMS = 10;
const LARGEST = 10;

export const trm = defineAlgorithm({
  id: "trm",
  title: "TRM",
  paper:
    "Xu & Jaakkola, Learning Representations that Support Robust Transfer of Predictors, 2021, https://arxiv.org/abs/2110.09940",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    /** The weight λ. */
    cosWeight: hparam(1e-4, powerOfTen(-5, 0), { reference: "cos_lambda" }),
    startSteps: hparam(200, powerOfTenInteger(0, 4), { reference: "iters" }),
    /** The step size of α. */
    eta: hparam(1e-2, powerOfTen(-3, -1), { reference: "groupdro_eta" }),
    neumann: variant(SUMS),
    gradientAlpha: variant(ALPHAS),
  },

  build({ backbone, classifier, classes, domains, hparams }) {
    const { cosWeight, startSteps, eta, classBalanced } = hparams;
    const isAliased = variantOf("neumann of TRM", hparams.neumann, SUMS) === "aliased";
    const isUpdated = variantOf("gradientAlpha of TRM", hparams.gradientAlpha, ALPHAS) === "updated";
    if (classBalanced && !(classifier instanceof Linear))
      throw new UsageError(
        "TRM with classBalanced=true copies the classifier's weights into its heads: it must be linear",
      );
    const heads = new Heads(domains, backbone.width, classes);
    return {
      modules: { backbone, classifier, heads },
      parameters: [...backbone.parameters(), ...classifier.parameters()],
      step(batch, ctx) {
        const features = backbone.forward(batch.x);
        const logits = classifier.forward(features);
        const nll = crossEntropy(logits, batch.y);
        if (ctx.schedule((step) => step < startSteps))
          return { loss: nll, features, logits, logs: { nll, trm_loss: nll.detach().zerosLike() } };
        ctx.checked(nll); // before the heads are updated
        if (classBalanced) heads.startFrom(classifier as Linear);
        const x = toFullPrecision(features);
        heads.learn(x, batch);
        const risk = heads.transferRisk(x, batch, { cosWeight, eta, isAliased, isUpdated });
        return { loss: nll.add(risk), features, logits, logs: { nll, trm_loss: risk } };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** A linear head for each domain, and the weights α of its losses on the other domains. */
export class Heads extends Module {
  readonly weight: StateBuffer; // [domains, classes, width]
  readonly bias: StateBuffer; // [domains, classes]
  readonly alpha: StateBuffer; // [domains, domains]

  constructor(
    domains: number,
    private readonly width: number,
    private readonly classes: number,
  ) {
    super();
    this.weight = new StateBuffer(empty([domains, classes, width]));
    this.bias = new StateBuffer(empty([domains, classes]));
    this.alpha = new StateBuffer(scope(() => ones([domains, domains]).sub(eye(domains))));
  }

  /** Initializes the heads like linear layers: U(±1/√width). */
  protected override reset(random: Random): void {
    const bound = 1 / Math.sqrt(this.width);
    random.for("weight").uniform_(this.weight, -bound, bound);
    random.for("bias").uniform_(this.bias, -bound, bound);
  }

  startFrom({ weight }: Linear): void {
    noGrad(() => this.weight.copy_(weight));
  }

  /** Trains each head with SGD on the features of its domain. `z` are the features of the whole batch. */
  learn(z: Tensor, batch: Labels): void {
    noGrad(() =>
      scope(() => {
        for (const { first, x, y, n, count } of partsOf(z, oneHot(batch.y, this.classes, z), batch)) {
          const [weight, bias] = [this.weight, this.bias].map((each) => each.narrow(0, first, count));
          // With errors E, a step changes W by −ηEᵀx/n and the bias by −ηΣE/n: the logits by −η(xxᵀ + 1)E/n.
          const rate = -HEAD_LR / n;
          const gram = x.bmm(x.transpose(1, 2)).add(1).mul(rate); // [count, n, n]
          let logits = x.bmm(weight.transpose(1, 2)).add(bias.unsqueeze(1)); // [count, n, classes]
          const errors: Tensor[] = [];
          for (let i = 0; i < HEAD_STEPS; i++) {
            errors.push(logits.softmax(2).sub(y));
            logits = logits.baddbmm(gram, errors[i]);
          }
          const sum = stack(errors).sum(0);
          weight.add_(sum.transpose(1, 2).bmm(x), { alpha: rate });
          bias.add_(sum.sum(1), { alpha: rate });
        }
      }),
    );
  }

  /** Returns the second term of L, computed from the features of the batch, and updates α. */
  transferRisk(z: Tensor, batch: Labels, { cosWeight, eta, isAliased, isUpdated }: RiskOptions): Tensor {
    const { weight, bias, width, classes } = this;
    const heads = bias.rows;
    const alpha = noGrad(() => this.alpha.div(this.alpha.sum(1, true))); // [heads, domains]
    const logits = linear(z, weight.view(-1, width), bias.view(-1)).view(z.rows, heads, classes);
    const y = batch.y.unsqueeze(1).expand([z.rows, heads]).reshape(-1);
    const each = crossEntropy(logits.view(-1, classes), y, { reduction: "none" }).view(-1, heads);
    const means = rowsByDomain(each, batch).map((own) => own.mean(0));
    const losses = stack(means, 1); // [heads, domains]

    // p, the gradient of S_Q, and then the gradient of the head's own loss along u_Q.
    const targets = oneHot(batch.y, classes, z);
    const p = noGrad(() => {
      const shares = cat(batch.domains.map(({ y }, i) => alpha.select(1, i).div(y.rows).expand([y.rows, heads])));
      const errors = logits.softmax(2).sub(targets.unsqueeze(1)).mul(shares.unsqueeze(2));
      return errors.permute(1, 2, 0).reshape(-1, z.rows).mm(z).view(heads, classes, width);
    });
    const own = rowsByDomain(logits, batch).map((rows, q) => rows.select(1, q)); // [n, classes] each
    const along = partsOf(z, targets, batch).map(({ first, x, y, n, count }) => {
      const probabilities = stack(own.slice(first, first + count)).softmax(2);
      const u = noGrad(() => neumannSums(p.narrow(0, first, count), x.detach(), probabilities.detach(), isAliased));
      return probabilities
        .sub(y)
        .mul(x.bmm(u.transpose(1, 2)))
        .sum()
        .div(n);
    });

    const next = noGrad(() => alpha.mul(losses.mul(alpha).mul(eta).exp()));
    noGrad(() => this.alpha.copy_(next));
    const weighted = losses.mul(isUpdated ? next : alpha).sum();
    const value = losses.detach().mul(alpha).sum();
    const others = isUpdated ? weighted.add(value.sub(weighted.detach())) : weighted;
    return along.reduce((sum, one) => sum.sub(one, { alpha: cosWeight }), others).div(heads);
  }
}

/** The labels of a batch, and of each of its domains. */
type Labels = Pick<Batch, "y"> & { readonly domains: readonly Pick<Minibatch, "y">[] };

/** Domains with equally many samples: features [count, n, width] and labels [count, n, classes] of the domains from `first` on. */
interface Part {
  readonly first: number;
  readonly count: number;
  readonly n: number;
  readonly x: Tensor;
  readonly y: Tensor;
}

interface RiskOptions {
  readonly cosWeight: number;
  readonly eta: number;
  readonly isAliased: boolean;
  readonly isUpdated: boolean;
}

const oneHot = (y: Tensor, classes: number, { dtype }: Tensor): Tensor =>
  y.toDType("int64").oneHot(classes).toDType(dtype);

/** Returns all domains as one part if they have equally many samples, otherwise one part for each. */
function partsOf(z: Tensor, targets: Tensor, batch: Labels): Part[] {
  const [x, y] = [z, targets].map((each) => rowsByDomain(each, batch));
  const all = [...x.keys()];
  const groups = all.every((e) => x[e].rows === x[0].rows) ? [all] : all.map((e) => [e]);
  return groups.map((group) => ({
    ...{ first: group[0], count: group.length, n: x[group[0]].rows },
    x: stack(group.map((e) => x[e])),
    y: stack(group.map((e) => y[e])),
  }));
}

/**
 * Returns Σ_k v_k, v_k = (I − H)^k p, for each head or, if `isAliased` is true, DomainBed's sum. Nothing is added to a sum once an
 * element of it exceeds 10. H is the Hessian of the mean cross-entropy with respect to the weights: with features z [heads, n,
 * width], probabilities P [heads, n, classes] and R = zvᵀ, Hv = Dᵀz for D = (P∘R − P(P·R))/n. So v_k = p − A_kᵀz with A_k the sum of
 * the D before, and R = zpᵀ − zzᵀA_k.
 */
export function neumannSums(p: Tensor, z: Tensor, probabilities: Tensor, isAliased: boolean): Tensor {
  const [heads, n, classes] = probabilities.shape;
  const gram = z.bmm(z.transpose(1, 2)).div(-n); // [heads, n, n]
  let r = z.bmm(p.transpose(1, 2)); // [heads, n, classes]
  const parts: Tensor[] = []; // the D, times n
  for (let k = 0; k < TERMS; k++) {
    const weighted = probabilities.mul(r);
    parts.push(weighted.addcmul(probabilities, weighted.sum(2, true), { value: -1 }));
    if (k + 1 < TERMS) r = r.baddbmm(gram, parts[k]);
  }
  const sums = stack(parts, 1).cumsum(1).div(n); // [heads, terms, n, classes]
  const a = sums.transpose(2, 3).reshape(heads, TERMS * classes, n);
  const v = p.unsqueeze(1).sub(a.bmm(z).view(heads, TERMS, classes, -1)); // [heads, terms, classes, width]
  const first = isAliased ? v.select(1, 0) : p;
  const large = v.cumsum(1).add(first.unsqueeze(1)).abs().amax([2, 3]).le(LARGEST).logicalNot(); // [heads, terms]
  // A term is skipped if one of the sums before it is too large.
  const before = large
    .narrow(1, 0, TERMS - 1)
    .toDType("int64")
    .cumsum(1)
    .gt(0);
  const kept = v.narrow(1, 1, TERMS - 1).maskedFill(before.view(heads, TERMS - 1, 1, 1), 0);
  return first.add(v.select(1, 0)).add(kept.sum(1));
}
