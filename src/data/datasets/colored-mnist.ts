/**
 * ColoredMNIST: is the digit below five? A quarter of the labels are wrong, so shape predicts the label with an
 * accuracy of 75 %. The color agrees with the label in 90 % and 80 % of the samples of two domains, and in 10 % of the
 * third.
 *
 * The color is the channel that contains the digit; the other channel is zero. As in the reference, the label is 1 for
 * digits below five, and the color is the (noisy) label, flipped with the probability of the domain.
 */
import { keyedRandom } from "../../engine/philox.js";
import { option } from "../../options.js";
import { type ArrayDomain, defineDataset } from "../dataset.js";
import { dealDigits, digitPixels, mnistFacts } from "./mnist-domains.js";
import { readMnist } from "./mnist-files.js";

const labelNoise = 0.25;
/** The domains, each with the probability that its color differs from the label. */
const colourNoise = { "+90%": 0.1, "+80%": 0.2, "-90%": 0.9 } as const;
const classes = ["5 to 9", "0 to 4"] as const;

export const coloredMnist = defineDataset({
  ...mnistFacts,
  id: "colored-mnist",
  title: "ColoredMNIST",
  summary:
    "handwritten digits, low or high, with a colour that is correlated with the label, differently in each domain",
  paper:
    "Arjovsky, Bottou, Gulrajani and Lopez-Paz, Invariant Risk Minimization, 2019, https://arxiv.org/abs/1907.02893",
  options: { seed: option(0, "which digits go to which domain, and their noise") },
  published: {
    domains: Object.keys(colourNoise).map((name, i) => ({ name, label: name, count: i === 0 ? 23334 : 23333 })),
    classes,
    total: 70000,
  },
  open({ root, options }) {
    const mnist = readMnist(root);
    const dealt = dealDigits(mnist, 3, options.seed);
    const domains = Object.entries(colourNoise).map(([name, noise], i): ArrayDomain => {
      // All label draws of a domain, then all color draws, as in the reference. An event is u < p.
      const random = keyedRandom(options.seed, "mnist", "colour", i);
      const labels = Int32Array.from(
        dealt[i],
        (place) => Number(mnist.labels[place] < 5) ^ Number(random.bernoulli(labelNoise)),
      );
      const colours = Uint8Array.from(labels, (label) => label ^ Number(random.bernoulli(noise)));
      return {
        name,
        count: labels.length,
        labels,
        read(sample) {
          const grey = digitPixels(mnist, dealt[i][sample]);
          const picture = new Uint8Array(2 * grey.length);
          for (let pixel = 0; pixel < grey.length; pixel++) picture[2 * pixel + colours[sample]] = grey[pixel];
          return picture;
        },
      };
    });
    return {
      id: "colored-mnist",
      title: "ColoredMNIST",
      kind: "arrays",
      root: mnist.root,
      hasDomains: true,
      inputShape: [2, mnist.height, mnist.width],
      augmentable: false,
      options,
      classes,
      domains,
      notes: [],
    };
  },
});
