/**
 * ERM++ is ERM with the components that its authors found to be important. First only the classifier is trained
 * (`headSteps` + 1 updates), then the whole network. Predictions use an average of the weights, which equals the
 * network until update `averageFrom` and is the mean of all later iterates. Batch norm is trained, not frozen. The
 * schedule (`schedule=plateau`) and training again on all pictures (`retrain=true`) are settings of the run;
 * docs/algorithms.md describes them.
 *
 * As in DomainBed, the average includes parameters and running statistics. If batch norm is trained, each update also
 * runs a forward pass of the average on the batch, which updates its running statistics once more. `lars` selects LARS,
 * which fails in DomainBed because of an invalid argument. Penalties apply to the network's features in the updates
 * that train the backbone.
 */

import { copyAll, lerpAll } from "../engine/many-tensors.js";
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
    /** The learning rate while only the classifier is trained. */
    headLr: hparam(5e-5, powerOfTen(-5, -3.5), { reference: "linear_lr" }),
    /** The last update that trains only the classifier. */
    headSteps: hparam(500, choice([500]), { reference: "linear_steps" }),
    /** The first update whose weights are averaged. */
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
        const isHeadOnly = ctx.schedule((step) => step <= headSteps);
        const selected = isHeadOnly ? optimizers.head : optimizers.all;
        const loss = scope(() => {
          const value = isHeadOnly
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

/** The number of iterates in the average minus one. */
class Average extends Module {
  readonly count: StateBuffer; // float64, so that the device can divide by it

  constructor() {
    super();
    this.count = new StateBuffer(zeros([], { dtype: "float64" }));
  }

  /** Updates the average of parameters and running statistics, or copies them if averaging has not started. */
  follow(network: Module, average: Module, isAveraging: boolean): void {
    const own = average.stateDict();
    const floats = [...network.stateDict()].filter(([, latest]) => latest.dtype.includes("float")); // not the number of batches
    const means = floats.map(([name]) => own.get(name)!);
    const latest = floats.map(([, each]) => each);
    if (isAveraging) scope(() => lerpAll(means, latest, this.count.add(2).reciprocal()));
    else copyAll(means, latest);
  }
}
