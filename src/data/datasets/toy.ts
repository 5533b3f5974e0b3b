/**
 * The sources of the paper as datasets: the 2-D task of Section 3.1, and its general form with r invariant features of
 * d in Section 4 (`../toy-task.ts`). There are two domains: the training domain, and one with reversed environmental
 * features.
 */
import { UsageError } from "../../errors.js";
import { option } from "../../options.js";
import { type ArrayDataset, type ArrayDomain, defineDataset, type OptionValues } from "../dataset.js";
import { paperTask, sampleTask, type Task } from "../toy-task.js";

const facts = {
  paper: "Shi et al., Domain Generalization via Nuclear Norm Regularization, 2023, https://arxiv.org/abs/2303.07527",
  licence: "none needed: generated",
  source: "generated, no files needed",
  layout: "no files",
  needsRoot: false,
  protocol: { steps: 5001, evaluateEvery: 100 },
} as const;

const domainNames = { in: "in-domain", out: "out-of-domain" } as const;

const shared = {
  samples: option(1000, "the number of samples per domain; a larger number does not change the first ones"),
  seed: option(0, "another seed, other samples"),
};

function dataset(
  id: string,
  title: string,
  task: Task,
  options: OptionValues & { samples: number; seed: number },
): ArrayDataset {
  if (!Number.isSafeInteger(options.samples) || options.samples < 1)
    throw new UsageError(`dataset ${id}: expected samples to be an integer of at least 1, got ${options.samples}`);
  const domains = (["in", "out"] as const).map((domain): ArrayDomain => {
    const { x, y, d } = sampleTask(task, options.samples, domain, options.seed);
    const values = Float32Array.from(x);
    return {
      name: domainNames[domain],
      count: options.samples,
      labels: Int32Array.from(y, (sign) => (sign > 0 ? 1 : 0)),
      read: (i) => values.slice(i * d, (i + 1) * d),
    };
  });
  return {
    id,
    title,
    kind: "arrays",
    root: null,
    hasDomains: true,
    inputShape: [task.invariant + task.environmental],
    augmentable: false,
    options,
    classes: ["negative", "positive"],
    domains,
    notes: [],
  };
}

export const toy2d = defineDataset({
  ...facts,
  id: "toy-2d",
  title: "Toy 2-D",
  summary:
    "Section 3.1's points: one invariant feature, one that agrees with the label at 70 %, and at 30 % out of domain",
  options: shared,
  open: ({ options }) => dataset("toy-2d", "Toy 2-D", paperTask, options),
});

export const toyRd = defineDataset({
  ...facts,
  id: "toy-rd",
  title: "Toy r/d",
  summary: "Section 4's points: r invariant features of d, the others D_γ in domain and D_−γ out of it",
  options: {
    ...shared,
    invariant: option(64, "invariant features, r"),
    environmental: option(401, "environmental features, d − r"),
    gamma: option(0.4, "γ: an environmental feature agrees with the label with probability ½ + γ, out of domain ½ − γ"),
  },
  open({ options }) {
    const { invariant, environmental, gamma } = options;
    if (!(gamma >= -0.5 && gamma <= 0.5))
      throw new UsageError(`dataset toy-rd: expected gamma to be from -0.5 to 0.5, got ${gamma}`);
    const agreement = { in: 0.5 + gamma, out: 0.5 - gamma };
    return dataset("toy-rd", "Toy r/d", { invariant, environmental, agreement }, options);
  },
});
