/**
 * Which pictures make the batch of a step: for each training domain, `batchSize` of its `in` split, drawn with replacement
 * and without end, as the reference testbed draws them (in distribution; its stream cannot be had outside its loader).
 *
 * The draws of a step are keyed by seed, step and domain. So there is no state: a resumed run asks for its step and gets the
 * batch it would have had, read-ahead may ask in any order, and leaving out one domain leaves the others' batches alone.
 */
import { keyedRandom } from "../engine/philox.js";
import { DataError, UsageError } from "../errors.js";

/** A training domain, as the sampler sees it. */
export interface SampledDomain {
  readonly name: string;
  /** Its place in the dataset, which keys its draws. */
  readonly index: number;
  /** The pictures to draw from: the domain's `in` split. */
  readonly pictures: ArrayLike<number>;
  /** The label of every picture of the domain (not only of those above); needed where classes are balanced. */
  readonly labels?: ArrayLike<number>;
}

export interface SamplerOptions {
  seed: number;
  /** Pictures of each domain in a batch. */
  batchSize: number;
  domains: readonly SampledDomain[];
  /** Draw every class that a domain has equally often; otherwise every picture. */
  classBalanced?: boolean;
}

/** One domain's share of a batch. */
export interface DomainBatch {
  readonly domain: string;
  /** The domain's place in the dataset. */
  readonly index: number;
  /** Places in the domain's order. */
  readonly pictures: Uint32Array;
}

export interface Sampler {
  /** What is allowed but worth saying, such as a domain smaller than a batch. */
  readonly notes: readonly string[];
  /** The batch of a step, domain by domain in the order given. */
  batch(step: number): DomainBatch[];
}

/** The pictures of a domain in groups, each of which is drawn equally often: by class where balanced, else all in one. */
function groups(domain: SampledDomain, classBalanced: boolean): readonly ArrayLike<number>[] {
  if (!classBalanced) return [domain.pictures];
  const { name, labels } = domain;
  if (!labels) throw new UsageError(`class-balanced sampling: expected the labels of domain "${name}", got none`);
  const byClass = new Map<number, number[]>();
  for (const picture of Array.from(domain.pictures)) {
    const label = labels[picture];
    if (label === undefined)
      throw new UsageError(`class-balanced sampling: picture ${picture} of domain "${name}" has no label`);
    const group = byClass.get(label);
    if (group) group.push(picture);
    else byClass.set(label, [picture]);
  }
  return [...byClass].sort(([a], [b]) => a - b).map(([, pictures]) => pictures);
}

/** Batches for training, from the `in` splits of the training domains. */
export function createSampler({ seed, batchSize, domains, classBalanced = false }: SamplerOptions): Sampler {
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new UsageError(`batches: expected a batch size of at least 1, got ${batchSize}`);
  if (domains.length === 0) throw new UsageError("batches: expected at least one training domain, got none");
  const notes: string[] = [];
  const indices = domains.map(({ index }) => index);
  for (const [i, { name, index, pictures }] of domains.entries()) {
    if (indices.indexOf(index) !== i)
      throw new UsageError(`batches: domain "${name}" has the place ${index} of another, and would repeat its draws`);
    if (pictures.length === 0)
      throw new DataError(
        `batches: training domain "${name}" has no pictures to draw from (its "in" split is empty): add pictures, hold fewer of them out, or leave the domain out`,
      );
    if (pictures.length < batchSize)
      notes.push(
        `training domain "${name}" has ${pictures.length} picture${pictures.length === 1 ? "" : "s"} for batches of ${batchSize}: every batch repeats some`,
      );
  }
  const grouped = domains.map((domain) => groups(domain, classBalanced));

  return {
    notes,
    batch(step) {
      if (!Number.isSafeInteger(step) || step < 0)
        throw new UsageError(`batches: expected a step of 0 or above, got ${step}`);
      return domains.map(({ name, index }, i) => {
        const random = keyedRandom(seed, "sample", step, index);
        // A class first and then a picture of it: weight 1/(pictures of the class · classes), as the reference weighs them.
        const pictures = Uint32Array.from({ length: batchSize }, () => {
          const group = grouped[i].length === 1 ? grouped[i][0] : grouped[i][random.integer(grouped[i].length)];
          return group[random.integer(group.length)];
        });
        return { domain: name, index, pictures };
      });
    },
  };
}
