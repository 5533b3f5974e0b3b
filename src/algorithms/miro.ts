/**
 * MIRO keeps the features close to those of the pretrained network, which serves as an approximation of a network that
 * knows all domains. It maximizes a variational bound of the mutual information between the feature maps f⁰ of the
 * pretrained network and the trained ones f, for each stage:
 *
 *     L = CE(w(φ(x)), y) + λ·Σ_l ½·mean[ (f_l − f⁰_l)²/σ²_l + ln σ²_l ],   σ²_l = softplus(b_l) + 1e-5
 *
 * There is one b per channel, initialized such that σ² = 0.1 and trained with `lrMultiplier` times the learning rate.
 * The mean encoder is the identity, as in the authors' code. `stages`: their default, `stem_block`, uses every stage;
 * `block` skips the first one (a ResNet's stem). The frozen network runs in evaluation mode without gradients.
 * Predictions do not need it.
 *
 * The authors' code has no search range for λ; the range here is the paper's.
 */

import { empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, variant } from "../hparams.js";
import { crossEntropy, Module, Parameter, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { variantOf } from "./variant.js";

const EPS = 1e-5;
const START_VARIANCE = 0.1;

const STAGES = ["stem_block", "block"] as const;

export const miro = defineAlgorithm({
  id: "miro",
  title: "MIRO",
  paper:
    "Cha et al., Domain Generalization by Mutual-Information Regularization with Pre-trained Models, ECCV 2022, https://arxiv.org/abs/2203.10789",
  needsDomains: false,
  hparams: {
    lambda: hparam(0.1, choice([1, 0.1, 0.01, 0.001]), { reference: "ld" }),
    lrMultiplier: hparam(10, choice([10]), { reference: "lr_mult" }),
    stages: variant(STAGES, { reference: "feat_layers" }),
  },
  backbone: { stages: true },

  build({ backbone, copyBackbone, classifier, hparams: { lambda, lrMultiplier, stages, lr } }) {
    const first = variantOf("stages of MIRO", stages, STAGES) === "block" ? 1 : 0;
    const frozen = copyBackbone();
    for (const parameter of frozen.parameters()) parameter.requiresGrad_(false);
    const variances = new StageVariances(backbone.stageChannels!.slice(first));

    /** Returns the frozen network's feature maps at the selected stages. */
    const frozenMaps = (x: Tensor): Tensor[] =>
      noGrad(() => {
        frozen.eval(); // the training loop sets all modules to training mode
        const maps: Tensor[] = [];
        frozen.stages!(x, (map, stage) => {
          if (stage >= first) maps.push(map);
          return map;
        });
        return maps;
      });

    return {
      modules: { backbone, classifier, frozen, variances },
      parameters: [
        { parameters: [...backbone.parameters(), ...classifier.parameters()] },
        { parameters: variances.parameters(), lr: lr * lrMultiplier },
      ],
      step({ x, y }) {
        const target = frozenMaps(x);
        const terms: Tensor[] = [];
        const features = backbone.stages!(x, (map, stage) => {
          if (stage >= first) terms.push(distance(map, target[stage - first], variances.at(stage - first)));
          return map;
        });
        const logits = classifier.forward(features);
        const regularization = terms.reduce((sum, term) => sum.add(term));
        const loss = crossEntropy(logits, y).add(regularization, { alpha: lambda });
        return { loss, features, logits, logs: { reg_loss: regularization } };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/**
 * Returns ½·mean[(f − f⁰)²/σ² + ln σ²]. σ² is one number per channel, so the mean over the other dimensions comes
 * first, and the only temporary feature map is the squared difference.
 */
function distance(map: Tensor, target: Tensor, variance: Tensor): Tensor {
  const squares = toFullPrecision(map).sub(toFullPrecision(target)).square().mean([0, 2, 3], true); // [1, channels, 1, 1]
  return squares.div(variance).add(variance.log()).mean().div(2);
}

/** One variance for each channel of each stage. */
class StageVariances extends Module {
  private readonly stages: readonly ChannelVariances[];

  constructor(channels: readonly number[]) {
    super();
    this.stages = channels.map((count) => new ChannelVariances(count));
  }

  override *children(): Generator<[string, Module]> {
    for (const [i, stage] of this.stages.entries()) yield [String(i), stage];
  }

  at(stage: number): Tensor {
    return this.stages[stage].variance();
  }
}

class ChannelVariances extends Module {
  readonly bias: Parameter; // [1, channels, 1, 1]

  constructor(channels: number) {
    super();
    this.bias = new Parameter(empty([1, channels, 1, 1]));
  }

  protected override reset(_random: Random): void {
    this.bias.fill_(Math.log(Math.expm1(START_VARIANCE - EPS)));
  }

  variance(): Tensor {
    return this.bias.softplus().add(EPS);
  }
}
