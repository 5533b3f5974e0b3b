/**
 * Chooses the pictures of the batch of a step: for each training domain, `batchSize` pictures of its `in` split, drawn
 * with replacement, with the same distribution as in the reference testbed (whose random stream is not available
 * outside its loader).
 *
 * The draws of a step depend on seed, step and domain. So there is no state: a resumed run gets the same batches,
 * read-ahead can request steps in any order, and removing one domain does not change the batches of the others.
 */
import { keyedRandom } from "../engine/philox.js";
import { DataError, UsageError } from "../errors.js";

/** A training domain for the sampler. */
export interface SampledDomain {
  readonly name: string;
  /** Its index in the dataset, on which its draws depend. */
  readonly index: number;
  /** The pictures to draw from: the `in` split of the domain. */
  readonly pictures: ArrayLike<number>;
  /** The label of every picture of the domain (not only of those above); needed for balanced classes. */
  readonly labels?: ArrayLike<number>;
}

export interface SamplerOptions {
  seed: number;
  /** The number of pictures of each domain in a batch. */
  batchSize: number;
  domains: readonly SampledDomain[];
  /** Draw every class of a domain equally often, instead of every picture. */
  classBalanced?: boolean;
}

/** The part of a batch from one domain. */
export interface DomainBatch {
  readonly domain: string;
  /** The index of the domain in the dataset. */
  readonly index: number;
  /** Indices in the order of the domain. */
  readonly pictures: Uint32Array;
}

export interface Sampler {
  /** Warnings about valid but unusual settings, such as a domain smaller than a batch. */
  readonly notes: readonly string[];
  /** The batch of a step by domain, in the given order. */
  batch(step: number): DomainBatch[];
}

/** The pictures of a domain in groups that are drawn equally often: by class if balanced, otherwise in one group. */
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
        // First a class, then one of its pictures: weight 1/(pictures of the class · classes), as in the reference.
        const pictures = Uint32Array.from({ length: batchSize }, () => {
          const group = grouped[i].length === 1 ? grouped[i][0] : grouped[i][random.integer(grouped[i].length)];
          return group[random.integer(group.length)];
        });
        return { domain: name, index, pictures };
      });
    },
  };
}
