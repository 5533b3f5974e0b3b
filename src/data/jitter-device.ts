/**
 * Brightness, contrast, saturation and hue in the order of each sample, then grayscale, with tensor operators. Pictures
 * are integers from 0 to 255 in float32, with the arithmetic of native/src/jitter.cc: in double where PIL uses double.
 *
 * The order differs between samples. So there are four rounds, and in each round every change is applied to the samples
 * for which it is due. This costs four changes of the whole batch instead of sixteen.
 */
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { drawField } from "./augment.js";
import { upload } from "./upload.js";

/** Changes pictures [n, 3, height, width] by one number each, [n, 1, 1, 1]. */
type Change = (pictures: Tensor, amounts: Tensor) => Tensor;

/** In the order of the numbers in a draw; undefined leaves the picture unchanged. */
const changes: readonly { readonly amount: (draw: Float32Array) => number | undefined; readonly apply: Change }[] = [
  { amount: (draw) => unless(1, draw[drawField.brightness]), apply: (x, factors) => clipped(x.mul(factors)) },
  { amount: (draw) => unless(1, draw[drawField.contrast]), apply: (x, factors) => blend(meanLuma(x), x, factors) },
  { amount: (draw) => unless(1, draw[drawField.saturation]), apply: (x, factors) => blend(luma(x), x, factors) },
  // In steps of the 8-bit hue. A shift below one step is still converted to HSV and back.
  {
    amount: (draw) => (draw[drawField.hue] === 0 ? undefined : Math.trunc(Math.fround(draw[drawField.hue] * 255))),
    apply: shiftHue,
  },
];

const unless = (nothing: number, value: number): number | undefined => (value === nothing ? undefined : value);

/** Applies one change to some of the pictures. */
interface Turn {
  readonly rows: readonly number[];
  readonly amounts: readonly number[];
  readonly apply: Change;
}

function turnOf(
  draws: readonly Float32Array[],
  amount: (draw: Float32Array) => number | undefined,
  apply: Change,
): Turn {
  const rows = draws.flatMap((draw, i) => (amount(draw) === undefined ? [] : [i]));
  return { rows, amounts: rows.map((i) => amount(draws[i]) ?? 0), apply };
}

/** Changes pictures in place, each by its draw. */
export function jitterOnDevice(pictures: Tensor, draws: readonly Float32Array[]): void {
  const rounds = [0, 1, 2, 3].flatMap((round) =>
    changes.map(({ amount, apply }, which) =>
      turnOf(draws, (draw) => (draw[drawField.order + round] === which ? amount(draw) : undefined), apply),
    ),
  );
  const gray = turnOf(
    draws,
    (draw) => unless(0, draw[drawField.gray]),
    (x) => luma(x).expand(x.shape),
  );
  const turns = [...rounds, gray].filter(({ rows }) => rows.length > 0);
  if (turns.length === 0) return;
  // All values are copied to the device at once, because one copy takes as long as one change.
  const { device } = pictures;
  const rows = upload(
    turns.flatMap((turn) => turn.rows),
    { dtype: "int64", device },
  );
  const amounts = upload(Float32Array.from(turns.flatMap((turn) => turn.amounts)), { device });
  let start = 0;
  for (const {
    rows: { length },
    apply,
  } of turns) {
    scope(() => {
      const some = rows.narrow(0, start, length);
      const changed = apply(pictures.indexSelect(0, some), amounts.narrow(0, start, length).reshape(length, 1, 1, 1));
      pictures.indexCopy_(0, some, changed);
    });
    start += length;
  }
}

/** Truncates to integers from 0 to 255, as in PIL. */
const clipped = (x: Tensor): Tensor => x.clamp_(0, 255).floor_();

const blend = (between: Tensor, x: Tensor, factors: Tensor): Tensor =>
  clipped(x.sub(between).mul_(factors).add_(between));

/** [n, 1, height, width]; the sum stays below 2^24, so float32 represents it exactly. */
function luma(x: Tensor): Tensor {
  const [r, g, b] = [0, 1, 2].map((c) => x.narrow(1, c, 1));
  return r.mul(19595).add_(g.mul(38470)).add_(b.mul(7471)).add_(0x8000).div_(0x10000).floor_();
}

/** [n, 1, 1, 1], rounded. */
const meanLuma = (x: Tensor): Tensor =>
  luma(x).to({ dtype: "float64" }).mean([2, 3], true).add_(0.5).floor_().to({ dtype: "float32" });

const double = (x: Tensor): Tensor => x.to({ dtype: "float64" });
const single = (x: Tensor): Tensor => x.to({ dtype: "float32" });

/** Shifts the hue of an 8-bit HSV picture, with the same steps as `shiftHueOfBlock` in native/src/jitter.cc. */
function shiftHue(x: Tensor, steps: Tensor): Tensor {
  const [r, g, b] = [0, 1, 2].map((c) => x.narrow(1, c, 1)); // this and all below: [n, 1, height, width]
  const high = x.amax([1], true);
  const range = high.sub(x.amin([1], true));
  const [redHigh, greenHigh] = [r.eq(high), g.eq(high)];
  const byHighest = (red: Tensor, green: Tensor, blue: Tensor): Tensor =>
    red.where(redHigh, green.where(greenHigh, blue));
  const divisor = range.clamp(1); // for gray, saturation is 0 and hue is undefined
  const plus = high.sub(byHighest(b, r, g)).div_(divisor);
  const minus = high.sub(byHighest(g, b, r)).div_(divisor);
  const start = double(greenHigh).mul_(-2).add_(4).mul_(double(redHigh.logicalNot())); // 0, 2 or 4
  const turn = double(single(start.add_(double(plus)).sub_(double(minus))))
    .div_(6)
    .add_(1);
  const hue = double(single(turn.sub(turn.floor())))
    .mul_(255)
    .floor_();

  const moved = hue.add_(double(steps));
  const place = moved.sub(moved.div(256).floor_().mul_(256)).mul_(6).div_(255); // H wraps at 256
  const sector = place.floor();
  const into = single(place.sub_(sector));
  const s = single(
    double(range.div_(high.clamp(1)))
      .mul_(255)
      .floor_()
      .div_(255),
  );
  const v = double(high);
  const without = (share: Tensor): Tensor => single(share.neg().add_(1).mul_(v).add_(0.5).floor_());
  const p = without(double(s));
  const q = without(double(s.mul(into)));
  const t = without(double(s).mul_(double(into).neg().add_(1)));
  const [is0, is1, is2, is3, is4, is5] = [0, 1, 2, 3, 4, 5].map((which) =>
    which === 0 ? sector.eq(0).logicalOr(sector.eq(6)) : sector.eq(which),
  );
  const red = q.where(is1, t.where(is4, p.where(is2.logicalOr(is3), high)));
  const green = t.where(is0, q.where(is3, p.where(is4.logicalOr(is5), high)));
  const blue = t.where(is2, q.where(is5, p.where(is0.logicalOr(is1), high)));
  return cat([red, green, blue], 1);
}
