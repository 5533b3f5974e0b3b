/**
 * Domains that are near-copies of each other: the same objects with another camera, or one set of pictures under two names. Held out
 * alone, such a domain says nothing of new ones, since its twin is trained on; so near-copies are held out together.
 *
 * A picture is nearly always nearer to a picture of its own domain than to any of another. In near-copies that fails for many. What is counted
 * is the share of pictures whose nearest neighbour is in the other domain, divided by the share that there would be if the two were
 * one set of pictures, dealt out at random: 0 for domains far apart, 1 for no difference. Office-31's dslr and webcam, which show the same
 * objects, have 0.35 to 0.8 (all or ten of the classes, 224 or 288 pixels); its other pairs at most 0.1; PACS's paintings and photographs, its nearest,
 * 0.26 one way and 0.07 the other.
 */

import { evenlyChosen } from "../data/evenly-chosen.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";

/** The relative share, both ways, from which two domains are near-copies. */
const SHARE = 0.2;
/** Pictures of a domain that are looked at, and that are looked for: their number squared is what it costs. */
const MOST_PICTURES = 2000;

/** Domains, by their places, in groups of near-copies; a domain that is like no other is a group of its own. */
export function nearCopyGroups(domains: readonly Tensor[]): number[][] {
  const groups = domains.map((_, i) => [i]);
  const shares = nearestElsewhere(domains);
  const count = (i: number): number => Math.min(MOST_PICTURES, domains[i].rows);
  const relative = (a: number, b: number): number => (shares[a][b] * (count(a) + count(b))) / Math.max(1, count(b));
  for (let a = 0; a < domains.length; a++)
    for (let b = a + 1; b < domains.length; b++)
      // Both ways, so that a large domain does not swallow a small one whose pictures are few and far apart.
      if (Math.min(relative(a, b), relative(b, a)) >= SHARE) join(groups, a, b);
  return groups.filter((group) => group.length > 0);
}

function join(groups: number[][], a: number, b: number): void {
  const [to, from] = [groups.find((group) => group.includes(a))!, groups.find((group) => group.includes(b))!];
  if (to === from) return;
  to.push(...from.splice(0));
  to.sort((x, y) => x - y);
}

/** For each two domains, the share of the first one's pictures that lie nearer to one of the second than to any of their own. */
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
