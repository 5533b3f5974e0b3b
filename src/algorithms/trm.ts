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
 * The heads are linear, so gradients and Hessian products have closed forms and no double backward is needed. Unlike in
 * DomainBed, heads and α are saved with a run. Penalties apply to z.
 */

import { empty, eye, linear, ones, stack } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, powerOfTenInteger, variant } from "../hparams.js";
import { crossEntropy, Linear, Module, StateBuffer, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { rowsByDomain } from "./domain-parts.js";
import { errors } from "./fishr.js";
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
        const rows = rowsByDomain(toFullPrecision(features), batch).map((x, e) => ({ x, y: batch.domains[e].y }));
        for (const [e, own] of rows.entries()) heads.learn(e, own);
        const risk = heads.transferRisk(rows, { cosWeight, eta, isAliased, isUpdated });
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
    private readonly domains: number,
    private readonly width: number,
    classes: number,
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

  /** Trains one head with SGD on the features of its domain. */
  learn(domain: number, { x, y }: Minibatch): void {
    noGrad(() => {
      const z = x.detach();
      const [weight, bias] = [this.weight.select(0, domain), this.bias.select(0, domain)];
      for (let i = 0; i < HEAD_STEPS; i++)
        scope(() => {
          const step = errors(linear(z, weight, bias), y).mul(-HEAD_LR / z.rows);
          weight.addmm_(step.t(), z);
          bias.add_(step.sum(0));
        });
    });
  }

  /** Returns the second term of L, computed from the features and labels of each domain, and updates α. */
  transferRisk(domains: readonly Minibatch[], { cosWeight, eta, isAliased, isUpdated }: RiskOptions): Tensor {
    const alpha = noGrad(() => this.alpha.div(this.alpha.sum(1, true)));
    const risks = domains.map((own, q) => {
      const [weight, bias] = [this.weight.select(0, q).clone(), this.bias.select(0, q).clone()];
      const row = alpha.select(0, q); // [domains]
      const losses = stack(domains.map(({ x, y }) => crossEntropy(linear(x, weight, bias), y)));
      const along = gradient(own, weight, bias);
      const direction = noGrad(() => {
        const parts = stack(domains.map((other) => gradient(other, weight, bias)));
        const start = parts.mul(row.view(this.domains, 1, 1)).sum(0);
        return neumannSum(start, hessianOf(own.x, linear(own.x, weight, bias)), isAliased);
      });
      const next = noGrad(() => row.mul(losses.mul(row).mul(eta).exp()));
      noGrad(() => this.alpha.select(0, q).copy_(next));
      const weighted = losses.mul(isUpdated ? next : row).sum();
      const value = losses.detach().mul(row).sum();
      const others = isUpdated ? weighted.add(value.sub(weighted.detach())) : weighted;
      return others.sub(direction.mul(along).sum(), { alpha: cosWeight });
    });
    return stack(risks).mean();
  }
}

interface RiskOptions {
  readonly cosWeight: number;
  readonly eta: number;
  readonly isAliased: boolean;
  readonly isUpdated: boolean;
}

/** ∇_W of the mean cross-entropy of a linear head, [classes, width]. */
function gradient({ x, y }: Minibatch, weight: Tensor, bias: Tensor): Tensor {
  return errors(linear(x, weight, bias), y)
    .t()
    .mm(x)
    .div(x.rows);
}

/**
 * Returns the product with the Hessian of that loss with respect to W: with P = softmax and R = zVᵀ, mean_i (P_i∘R_i −
 * P_i(P_i·R_i)) z_iᵀ.
 */
function hessianOf(z: Tensor, logits: Tensor): (v: Tensor) => Tensor {
  const p = logits.softmax(1); // [n, classes]
  return (v) => {
    const weighted = p.mul(z.mm(v.t()));
    return weighted
      .sub(p.mul(weighted.sum(1, true)))
      .t()
      .mm(z)
      .div(z.rows);
  };
}

/** Returns Σ_k (I − H)^k p or, if `isAliased` is true, DomainBed's sum. Nothing is added once an element exceeds 10. */
export function neumannSum(p: Tensor, hessian: (v: Tensor) => Tensor, isAliased: boolean): Tensor {
  let v = p;
  let sum = p;
  let isActive = sum.abs().max().le(Number.POSITIVE_INFINITY);
  for (let k = 1; k <= TERMS; k++) {
    v = v.sub(hessian(v));
    const next = isAliased && k === 1 ? v.mul(2) : sum.add(v);
    sum = next.where(isActive, sum);
    isActive = isActive.logicalAnd(sum.abs().max().le(LARGEST));
  }
  return sum;
}
