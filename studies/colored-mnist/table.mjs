/** DomainBed's table of ColoredMNIST: its rows, what was published, and the rules of agreement (docs/results/colored-mnist.md). */
import { readFileSync } from "node:fs";

/** The algorithms by the titles of the table, those that are run first before the others. @type {Record<string, string>} */
export const ALGORITHMS = {
  ...{ ERM: "erm", IRM: "irm", VREx: "vrex", MMD: "mmd", ARM: "arm", GroupDRO: "group-dro" },
  ...{
    Mixup: "mixup",
    MLDG: "mldg",
    CORAL: "coral",
    DANN: "dann",
    CDANN: "cdann",
    MTL: "mtl",
    SagNet: "sag-net",
    RSC: "rsc",
  },
};

/** How many of the algorithms are the first block. */
export const FIRST = 6;

/** The domain on which algorithms differ most comes first. */
export const DOMAINS = ["-90%", "+90%", "+80%"];
export const TRIALS = [0, 1, 2];
export const DRAWS = Array.from({ length: 20 }, (_, i) => i);

/** The rules of selection, by the names of `nudge report --selection`, with their names in DomainBed's tables. @type {Record<string, string>} */
export const SELECTIONS = {
  "training-domain": "training-domain validation set",
  oracle: "test-domain validation set (oracle)",
};

const { selections } = JSON.parse(
  readFileSync(new URL("../../data/published-domainbed.json", import.meta.url), "utf8"),
);

/** A published number in percent, with its standard error. @param {string} selection @param {string} algorithm @param {string} domain @returns {{ mean: number, se: number }} */
export function published(selection, algorithm, domain) {
  const [mean, se] = selections[SELECTIONS[selection]].ColoredMNIST[algorithm][domain];
  return { mean, se };
}

/**
 * Whether two means of three trials agree: |a − b| ≤ 4.6 s, with s² = max(1.5 se₁², 0.2²) + max(1.5 se₂², 0.2²). A standard error as DomainBed prints it is
 * the population's deviation over √3, so 1.5 se² is the square of the usual one. 0.2 is the binomial error of one accuracy on 18,667 pictures, in points. 4.6 is the
 * two-sided 1 % point of Student's t with 4 degrees of freedom.
 *
 * @param {{ mean: number, se: number }} a @param {{ mean: number, se: number }} b
 */
export function agreement(a, b) {
  const [FLOOR, FACTOR] = [0.2, 4.6];
  const variance = (/** @type {number} */ se) => Math.max(1.5 * se ** 2, FLOOR ** 2);
  const allowed = FACTOR * Math.sqrt(variance(a.se) + variance(b.se));
  const difference = a.mean - b.mean;
  return { difference, allowed, agrees: Math.abs(difference) <= allowed + 1e-9 };
}

/** The largest number of cells of a table that may disagree by chance before the table does. */
export const MOST_DISAGREEING = 2;

/** The second rule, for cells whose published errors allow any difference: these are above ERM on −90 % with the oracle, by at least 10 points. */
export const ABOVE_ERM = { algorithms: ["IRM", "VREx", "MMD"], domain: "-90%", selection: "oracle", points: 10 };
