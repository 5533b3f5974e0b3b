/** The metadata at the top of a card on Hugging Face's hub, as YAML: licence, tags, and accuracies by domain. */

import { stringify } from "yaml";
import type { ModelAbout } from "../model/about.js";
import type { KnownAccuracy } from "./model-card.js";

const OF: Readonly<Record<KnownAccuracy["of"], string>> = {
  validation: "validation pictures of a training domain",
  "held out": "held-out domain",
  estimate: "held-out domain, by a model trained on the others",
};

/** The hub's names of licences that weights come with. */
const LICENCES: readonly (readonly [RegExp, string])[] = [
  [/^mit\b/i, "mit"],
  [/^apache[- ]2/i, "apache-2.0"],
  [/^bsd[- ]3/i, "bsd-3-clause"],
  [/^isc\b/i, "isc"],
  [/^cc[- ]by[- ]nc[- ]4/i, "cc-by-nc-4.0"],
  [/^cc[- ]by[- ]4/i, "cc-by-4.0"],
];

/** Returns the block with its delimiters. */
export function frontMatter(about: ModelAbout, known: readonly KnownAccuracy[]): string {
  const { startingWeights, backbone, dataset } = about;
  const licence = startingWeights?.licence ?? null;
  const name = licence === null ? undefined : LICENCES.find(([pattern]) => pattern.test(licence))?.[1];
  const source = startingWeights?.metadata.source ?? startingWeights?.metadata.weights;
  const yaml = {
    ...(name ? { license: name } : { license: "other", license_name: licence ?? "not-stated" }),
    library_name: "transformers",
    pipeline_tag: "image-classification",
    tags: ["image-classification", "domain-generalization", "transformers.js", "nudge"],
    ...(source && { starting_weights: source }),
    ...(known.length > 0 && {
      "model-index": [
        {
          name: `${backbone} on ${dataset}`,
          results: known.map(({ domain, of, accuracy }) => ({
            task: { type: "image-classification" },
            dataset: { name: `${dataset}, ${domain} (${OF[of]})`, type: dataset },
            metrics: [{ type: "accuracy", value: Number(accuracy.toFixed(4)) }],
          })),
        },
      ],
    }),
  };
  return `---\n${stringify(yaml)}---\n\n`;
}
