/**
 * Random search: draws of hyperparameters equal to those of DomainBed (since November 2020).
 *
 * Each hyperparameter has its own generator, seeded by the seed of the search, the seed of the trial and its name in
 * DomainBed. A draw therefore does not depend on what else is drawn or in which order. (The official code of the paper,
 * like SWAD's, still draws all of them from one generator in order of declaration; its draws differ, its distributions
 * do not.)
 */
import { UsageError } from "../errors.js";
import type { Hparam, HparamValue } from "../hparams.js";
import { RandomState } from "../reference/mt19937.js";
import { seedHash } from "../reference/seed-hash.js";

/** The values of declared hyperparameters. */
export type HparamValuesOf<H> = { -readonly [K in keyof H]: H[K] extends Hparam<infer T> ? T : never };

export interface DrawSeeds {
  /** 0 selects the defaults; any other integer selects a random draw. */
  hparamsSeed: number;
  /** Another trial has another draw, as in DomainBed. */
  trialSeed: number;
}

/** The value of one hyperparameter. `name` is its name here, used if DomainBed does not have it. */
export function drawHparam<T extends HparamValue>(name: string, hparam: Hparam<T>, seeds: DrawSeeds): T {
  for (const [key, value] of Object.entries(seeds))
    if (!Number.isSafeInteger(value) || value < 0)
      throw new UsageError(`hyperparameter ${name}: expected ${key} to be an integer of at least 0, got ${value}`);
  if (seeds.hparamsSeed === 0) return hparam.default;
  return hparam.range.draw(new RandomState(seedHash(searchSeed(seeds), hparam.reference ?? name)));
}

let last = { hparamsSeed: 0, trialSeed: 0, seed: seedHash(0, 0) };

/** The seed of all hyperparameters of a draw. The last one is cached, because draws are made one after the other. */
function searchSeed({ hparamsSeed, trialSeed }: DrawSeeds): number {
  if (last.hparamsSeed !== hparamsSeed || last.trialSeed !== trialSeed)
    last = { hparamsSeed, trialSeed, seed: seedHash(hparamsSeed, trialSeed) };
  return last.seed;
}

/**
 * The values of several hyperparameters: `drawHparams({ ...shared, ...erm.hparams }, { hparamsSeed: 3, trialSeed: 0
 * })`.
 */
export function drawHparams<H extends object>(hparams: H, seeds: DrawSeeds): HparamValuesOf<H> {
  const drawn = Object.entries(hparams as Record<string, Hparam>).map(([name, hparam]) => [
    name,
    drawHparam(name, hparam, seeds),
  ]);
  return Object.fromEntries(drawn) as HparamValuesOf<H>;
}
