/**
 * Finds domains that are near-copies of each other: the same objects with another camera, or one set of pictures under
 * two names. Holding out only one of them says nothing about new domains, because the model is trained on the other. So
 * near-copies are held out together.
 *
 * The nearest neighbor of a picture is nearly always in its own domain, except in near-copies. The measure is the
 * fraction of pictures whose nearest neighbor is in the other domain, divided by the fraction that is expected if both
 * were one set of pictures, split at random: 0 for very different domains, 1 for no difference. Office-31's dslr and
 * webcam, which show the same objects, have 0.35 to 0.8 (all or ten of the classes, 224 or 288 pixels); its other pairs
 * have at most 0.1; PACS's paintings and photographs, its closest pair, 0.26 in one direction and 0.07 in the other.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";

/** Two domains are near-copies if the relative fraction is at least this, in both directions. */
const SHARE = 0.2;
/** The number of pictures of a domain that are compared, and with how many. The cost is their product. */
const MOST_PICTURES = 2000;

/** The indices of domains, grouped by near-copies. A domain without near-copies is a group with one element. */
export function nearCopyGroups(domains: readonly Tensor[]): number[][] {
  const groups = domains.map((_, i) => [i]);
  const shares = nearestElsewhere(domains);
  const count = (i: number): number => Math.min(MOST_PICTURES, domains[i].rows);
  const relative = (a: number, b: number): number => (shares[a][b] * (count(a) + count(b))) / Math.max(1, count(b));
  for (let a = 0; a < domains.length; a++)
    for (let b = a + 1; b < domains.length; b++)
      // Both directions must agree, so that a large domain is not merged with a small one with few, scattered pictures.
      if (Math.min(relative(a, b), relative(b, a)) >= SHARE) join(groups, a, b);
  return groups.filter((group) => group.length > 0);
}

function join(groups: number[][], a: number, b: number): void {
  const [to, from] = [groups.find((group) => group.includes(a))!, groups.find((group) => group.includes(b))!];
  if (to === from) return;
  to.push(...from.splice(0));
  to.sort((x, y) => x - y);
}

/**
 * For each pair of domains, the fraction of the first one's pictures that are nearer to a picture of the second than to
 * any of their own.
 */
export function nearestElsewhere(domains: readonly Tensor[]): number[][] {
  return noGrad(() =>
    scope(() => {
      const few = domains.map((x) =>
        x.take(
          evenlyChosen(
            Array.from({ length: x.rows }, (_, i) => i),
            MOST_PICTURES,
          ),
        ),
      );
      const all = cat(few);
      const mean = all.mean(0, true);
      const deviation = all.variance(0, { correction: 0, keepdim: true }).sqrt().clamp(1e-6);
      const directions = few.map((x) => {
        const z = x.sub(mean).div(deviation);
        return z.div(z.norm(1, { keepdim: true }).clamp(1e-12));
      });
      return directions.map((own, a) => {
        const nearest = directions.map((other, b) =>
          scope(() => {
            const cosines = own.matmul(other.t());
            if (a === b) cosines.diagonal().fill_(-2); // a picture is not its own neighbour
            return cosines.max(1);
          }),
        );
        return nearest.map((there, b) => (b === a ? 0 : there.gt(nearest[a]).toDType("float64").mean().item()));
      });
    }),
  );
}
