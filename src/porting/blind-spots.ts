/**
 * What the minibatches of parity cases cannot show. An error in a term that cancels, or that always has the same factor,
 * changes no number: with as many samples of each class, a logit adjustment adds the same to all logits.
 */

import { scope } from "../engine/scope.js";
import { caseTensors, type ParityCase, type ParityFile } from "./parity-file.js";

/** The labels of the recorded minibatches, by update and domain. */
type Labels = readonly (readonly (readonly number[])[])[];

/** What all cases of one algorithm together cannot show, as text. */
export function blindSpots(cases: readonly { readonly about: ParityCase; readonly labels: Labels }[]): string[] {
  const batches = cases.flatMap(({ about, labels }) => labels.map((domains) => ({ classes: about.classes, domains })));
  const each = (of: (batch: (typeof batches)[number]) => boolean): boolean => batches.every(of);
  const countsOf = (labels: readonly number[], classes: number): number[] =>
    Array.from({ length: classes }, (_, c) => labels.filter((label) => label === c).length);
  const isEven = (counts: readonly number[]): boolean => counts.every((count) => count === counts[0]);
  const sizes = new Set(batches.flatMap(({ domains }) => domains.map(({ length }) => length)));
  const updates = Math.max(...cases.map(({ about }) => about.updates));
  return [
    ...(each(({ classes, domains }) => isEven(countsOf(domains.flat(), classes)))
      ? ["every update has as many samples of each class, so a term that depends on their frequency cancels"]
      : []),
    ...(each(({ classes, domains }) => domains.every((labels) => !countsOf(labels, classes).includes(0)))
      ? ["every domain has every class in every update, so what happens without one is not tested"]
      : []),
    ...(sizes.size === 1
      ? [`all minibatches have ${[...sizes][0]} samples, so a wrong factor of the size of a batch is not visible`]
      : []),
    ...(each(({ domains }) => domains.length === 1)
      ? ["there is one domain, so nothing between domains is tested"]
      : []),
    `nothing after update ${updates} is tested, such as a penalty that starts later`,
  ];
}

/** The labels of a case. */
export const labelsOf = (file: ParityFile, name: string): Labels =>
  scope(() => {
    const { domains, updates } = file.cases[name];
    const tensors = caseTensors(file, name);
    return Array.from({ length: updates }, (_, step) =>
      Array.from({ length: domains }, (_, e) => tensors.get(`batch/${step}/${e}/y`)?.toNumbers() ?? []),
    );
  });
