/**
 * The regions of a picture that support a class: Grad-CAM (Selvaraju et al., ICCV 2017) on the last feature map of the
 * backbone.
 *
 *     L = ReLU(Σ_k α_k A_k),   α_k = the mean over places of ∂(logit of the class)/∂A_k
 *
 * With average pooling and a linear classifier after the map, α_k is the weight of the classifier divided by the number
 * of positions, and L is the class activation map of Zhou et al. (CVPR 2016). Values are scaled to 0 to 1 in each
 * picture.
 */

import type { Backbone } from "../backbones/index.js";
import type { DecodedPicture } from "../data/decode.js";
import type { HeatMap } from "../drawing/heat-picture.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor, tensor } from "../engine/tensor.js";
import type { Layer } from "../nn/index.js";
import { ProbedBackbone } from "../probe/probed-backbone.js";
import type { Model } from "./model.js";

/** The pass from the last map to the logits; null for a model without such a map, or with another kind of prediction. */
function lastStage({
  network,
  about,
}: Model): { body: Backbone; stage: number; logits(features: Tensor): Tensor } | null {
  const { backbone, classifier } = network.modules as { backbone?: Backbone; classifier?: Layer };
  if (about.prediction.kind !== "plain" || !backbone || !classifier) return null;
  const probed = backbone instanceof ProbedBackbone ? backbone : null;
  const body = probed ? probed.body : backbone;
  const stage = (body.stageChannels?.length ?? 0) - 1;
  if (!body.stages || !body.stagesAreMaps || stage < 0) return null;
  return { body, stage, logits: (features) => classifier.forward(probed ? probed.map.forward(features) : features) };
}

/** Whether a model supports heat maps. */
export const hasHeatMaps = (model: Model): boolean => lastStage(model) !== null;

/** The heat map of each sample for a class, given by its index; null for a model without heat maps. */
export function heatMaps(model: Model, x: Tensor, classes: readonly number[]): HeatMap[] | null {
  const pass = lastStage(model);
  if (!pass) return null;
  const found = scope(() => {
    let map: Tensor | undefined;
    const features = pass.body.stages!(x.to({ device: model.device }), (each, stage) => {
      if (stage !== pass.stage) return each;
      map = each.detach().requiresGrad_();
      return map;
    });
    if (map?.shape.length !== 4) return null; // [n, channels, height, width]
    const wanted = tensor(
      classes.map((each) => [each]),
      { dtype: "int64", device: model.device },
    );
    const [gradient] = grad(pass.logits(features).gather(1, wanted).sum(), [map]);
    const weights = gradient.mean([2, 3], true); // [n, channels, 1, 1]
    return map.detach().mul(weights).sum(1).relu().to({ device: "cpu", dtype: "float32" }).toArray() as number[][][];
  });
  return found?.map(scaled) ?? null;
}

function scaled(rows: readonly (readonly number[])[]): HeatMap {
  const most = Math.max(...rows.flat());
  return rows.map((row) => row.map((value) => (most > 0 ? value / most : 0)));
}

/** The heat map of one decoded picture for a class; null for a model without heat maps. */
export function heatMapOf(model: Model, picture: DecodedPicture, label: number): HeatMap | null {
  using x = model.tensorOf([picture]);
  const heat = x && heatMaps(model, x, [label])?.[0];
  return heat ? overPicture(heat, model.about, picture) : null;
}

/** A heat map of the centre of a picture with cells of 0 around it, so that it covers the whole picture. */
function overPicture(heat: HeatMap, { preprocessing }: Model["about"], { width, height }: DecodedPicture): HeatMap {
  if (preprocessing.kind !== "pictures" || preprocessing.resize === undefined) return heat;
  const size = preprocessing.inputShape[1];
  const scale = preprocessing.resize / Math.min(width, height);
  const margin = (side: number, cells: number): number => Math.round((cells * ((side * scale) / size - 1)) / 2);
  const zeros = (count: number): number[] => new Array<number>(count).fill(0);
  const [columns, rows] = [margin(width, heat[0].length), margin(height, heat.length)];
  const wide = heat.map((row) => [...zeros(columns), ...row, ...zeros(columns)]);
  const empty = Array.from({ length: rows }, () => zeros(wide[0].length));
  return [...empty, ...wide, ...empty];
}
