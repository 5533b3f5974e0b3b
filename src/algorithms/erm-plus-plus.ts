/**
 * ERM++: ERM with the ingredients that its authors found to matter. The classifier is trained alone first (`headSteps` updates
 * and one), then all; predictions come from an average of the weights, which follows the network until update `averageFrom` and is the
 * mean of all iterates from there on. Batch norm is trained, not frozen. `retrainOnAll` and longer training chosen by validation
 * are matters of the loop: docs/algorithms.md says how.
 *
 * As in DomainBed's: the average has parameters and running statistics, and where batch norm is trained, each update also runs the average
 * on the batch, which moves its running statistics once more. `lars` selects LARS, which in DomainBed fails with an argument that
 * it does not take. A penalty is taken of the network's features in the updates that train the backbone.
 */

import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, powerOfTen, variant } from "../hparams.js";
import { crossEntropy, Module, StateBuffer } from "../nn/index.js";
import { LARS, type Optimizer } from "../optim/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { mixesRows } from "./domain-parts.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";

export const ermPlusPlus = defineAlgorithm({
  id: "erm-plus-plus",
  title: "ERM++",
  paper:
    "Teterwak, Saito, Tsiligkaridis, Saenko & Plummer, ERM++: An Improved Baseline for Domain Generalization, 2023, https://arxiv.org/abs/2304.01973",
  needsDomains: false,
  hparams: {
    /** The learning rate while the classifier is trained alone. */
    headLr: hparam(5e-5, powerOfTen(-5, -3.5), { reference: "linear_lr" }),
    /** Updates after whose number all of the network is trained. */
    headSteps: hparam(500, choice([500]), { reference: "linear_steps" }),
    /** The update from which on weights are averaged. */
    averageFrom: hparam(600, choice([600])),
    lars: variant([false, true], { reference: "lars" }),
  },
  overrides: { large: { freezeBatchNorm: hparam(false, choice([false]), { reference: "freeze_bn" }) } },

  build({ backbone, copyBackbone, classifier, classes, makeClassifier, adam, hparams }) {
    const { headLr, headSteps, averageFrom, lars, lr, weightDecay } = hparams;
    const optimizer = (parameters: Iterable<Tensor>, rate: number): Optimizer =>
      lars ? new LARS(parameters, { lr: rate, weightDecay }) : adam([...parameters], { lr: rate });
    const averageBackbone = copyBackbone();
    const averageClassifier = makeClassifier(backbone.width, classes);
    for (const module of [averageBackbone, averageClassifier])
      for (const parameter of module.parameters()) parameter.requiresGrad_(false);
    const average = new Average();
    const optimizers = {
      all: optimizer([...backbone.parameters(), ...classifier.parameters()], lr),
      head: optimizer(classifier.parameters(), headLr),
    };
    return {
      modules: { backbone, classifier, averageBackbone, averageClassifier, average },
      optimizers,
      update(batch, ctx) {
        const ofHead = ctx.schedule((step) => step <= headSteps);
        const selected = ofHead ? optimizers.head : optimizers.all;
        const loss = scope(() => {
          const value = ofHead
            ? ctx.checked(crossEntropy(classifier.forward(noGrad(() => backbone.forward(batch.x))), batch.y))
            : penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
          selected.zeroGrad();
          value.backward();
          selected.step();
          return value.detach();
        });
        const isAveraging = ctx.schedule((step) => step + 1 >= averageFrom);
        noGrad(() => {
          average.follow(backbone, averageBackbone, isAveraging);
          average.follow(classifier, averageClassifier, isAveraging);
          if (isAveraging) average.count.add_(1);
          if (mixesRows(averageBackbone)) scope(() => averageBackbone.forward(batch.x));
        });
        return { loss };
      },
      predict: (x) => averageClassifier.forward(averageBackbone.forward(x)),
    };
  },
});

/** How many iterates the average has, less one. */
class Average extends Module {
  readonly count: StateBuffer; // float64, so that it can be divided by on the device

  constructor() {
    super();
    this.count = new StateBuffer(zeros([], { dtype: "float64" }));
  }

  /** Moves the average's parameters and running statistics on to the network's, or copies them while nothing is averaged. */
  follow(network: Module, average: Module, isAveraging: boolean): void {
    const own = average.stateDict();
    for (const [name, latest] of network.stateDict()) {
      const mean = own.get(name)!;
      if (!latest.dtype.includes("float")) continue; // the count of batches
      if (!isAveraging) mean.copy_(latest);
      else
        scope(() => {
          const before = this.count.toDType(mean.dtype).add(1);
          mean.copy_(mean.mul(before).add(latest).div(before.add(1)));
        });
    }
  }
}
