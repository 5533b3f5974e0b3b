/**
 * T3A: a classifier that adapts to the test pictures (Iwasawa & Matsuo, NeurIPS 2021). Each class has supports,
 * initially the row of the linear classifier. Every batch adds its features to the supports of the predicted classes,
 * and the `keep` supports with the lowest entropy are kept for each class. The score of a class is the product of the
 * features with the normalised sum of its normalised supports.
 *
 * No gradient is computed and nothing is stored: the state belongs to this object, so predictions depend on the order
 * and the size of batches. The bias and the temperature of the model are not used. `keep` −1 keeps all supports; there,
 * the authors' code drops the worst support of each class at every batch by mistake.
 */

import { cat } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { type Layer, Linear } from "../nn/index.js";
import { Model } from "./model.js";
import type { Forward } from "./network.js";

/** The supports of each class, which grow with every batch. */
export class Supports implements Disposable {
  private rows: Tensor; // [count, width]
  private labels: number[];
  private entropies: number[];

  /** Keeps `most` supports per class; −1 keeps all. */
  constructor(
    private readonly classifier: Layer & { readonly weight: Tensor },
    private readonly most: number,
  ) {
    const { rows, labels, entropies } = scope(() => {
      const own = noGrad(() => classifier.weight.detach().clone());
      return { rows: keep(own), ...this.judged(own) };
    });
    this.rows = rows;
    this.labels = labels;
    this.entropies = entropies;
  }

  /** Adds features [n, width] to the supports and returns their scores: [n, classes]. */
  scores(features: Tensor): Tensor {
    return noGrad(() =>
      scope(() => {
        const { labels, entropies } = this.judged(features);
        const [allLabels, allEntropies] = [
          [...this.labels, ...labels],
          [...this.entropies, ...entropies],
        ];
        const kept = this.chosen(allLabels, allEntropies);
        const rows = keep(cat([this.rows, features.detach()]).take(kept));
        this.rows.dispose();
        this.rows = rows;
        this.labels = kept.map((i) => allLabels[i]);
        this.entropies = kept.map((i) => allEntropies[i]);
        return features.mm(this.centroids().t());
      }),
    );
  }

  /** The class that the classifier predicts, and the entropy of the prediction. */
  private judged(features: Tensor): { labels: number[]; entropies: number[] } {
    return noGrad(() =>
      scope(() => {
        const logp = this.classifier.forward(features).logSoftmax(1);
        return {
          labels: logp.argmax(1).toNumbers(),
          entropies: logp.exp().mul(logp).sum(1).neg().toNumbers(),
        };
      }),
    );
  }

  /**
   * The indices of the supports that are kept, in order: for each class those with the lowest entropy; the first one of
   * equals.
   */
  private chosen(labels: readonly number[], entropies: readonly number[]): number[] {
    const all = [...labels.keys()];
    if (this.most < 0) return all;
    const kept = [...new Set(labels)].flatMap((label) =>
      all
        .filter((i) => labels[i] === label)
        .sort((a, b) => entropies[a] - entropies[b])
        .slice(0, this.most),
    );
    return kept.sort((a, b) => a - b);
  }

  /** The normalised sum of the normalised supports of each class; 0 for a class without supports. [classes, width] */
  private centroids(): Tensor {
    const unit = normalised(this.rows);
    const classes = this.classifier.weight.rows;
    const sums = unit
      .zerosLike()
      .narrow(0, 0, 1)
      .expand([classes, unit.size(1)])
      .clone();
    for (const [i, label] of this.labels.entries()) sums.narrow(0, label, 1).add_(unit.narrow(0, i, 1));
    return normalised(sums);
  }

  [Symbol.dispose](): void {
    this.rows.dispose();
  }
}

const normalised = (rows: Tensor): Tensor => rows.div(rows.norm(1, { keepdim: true }).clamp(1e-12));

/** A model whose classifier adapts to the test pictures. It takes ownership of the model. */
export class AdaptedModel extends Model {
  private readonly supports: Supports;

  constructor(model: Model, most: number) {
    super(model.path, { ...model.about, calibration: null }, model.network, model.distanceStatistics, model.device);
    if (!(Number.isInteger(most) && (most === -1 || most > 0)))
      throw new UsageError(`T3A: expected the number of supports per class (at least 1, or -1 for all), got ${most}`);
    const { classifier } = model.network.modules;
    if (model.about.prediction.kind !== "plain" || !(classifier instanceof Linear))
      throw new UsageError(
        `T3A adapts a linear classifier on the features, but the model ${model.path} predicts in another way${model.dependsOnBatch ? ", which already depends on the batch" : ""}`,
      );
    this.supports = new Supports(classifier, most);
  }

  override get dependsOnBatch(): boolean {
    return true;
  }

  override forward(x: Tensor): Forward {
    return scope(() => {
      const { features } = super.forward(x);
      return { logits: this.supports.scores(features), features };
    });
  }

  override async forwardAside(x: Tensor): Promise<Forward> {
    const { logits, features } = await super.forwardAside(x);
    logits.dispose();
    return { logits: scope(() => keep(this.supports.scores(features))), features };
  }

  override dispose(): void {
    this.supports[Symbol.dispose]();
    super.dispose();
  }
}
