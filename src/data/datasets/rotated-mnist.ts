/** RotatedMNIST: digits rotated counterclockwise by 0 to 75 degrees, with one domain per angle. */
import { UsageError } from "../../errors.js";
import { option } from "../../options.js";
import { type ArrayDomain, defineDataset } from "../dataset.js";
import { type Interpolation, pictureRotator } from "../rotate-picture.js";
import { dealDigits, digitPixels, mnistFacts } from "./mnist-domains.js";
import { readMnist } from "./mnist-files.js";

const angles = [0, 15, 30, 45, 60, 75] as const;
const digits = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] as const;

function checkInterpolation(text: string): Interpolation {
  if (text === "bilinear" || text === "bicubic") return text;
  throw new UsageError(`dataset rotated-mnist: expected interpolation to be bilinear or bicubic, got "${text}"`);
}

export const rotatedMnist = defineDataset({
  ...mnistFacts,
  id: "rotated-mnist",
  title: "RotatedMNIST",
  summary: "handwritten digits rotated by six angles",
  paper:
    "Ghifary, Kleijn, Zhang and Balduzzi, Domain Generalization for Object Recognition with Multi-task Autoencoders, ICCV 2015, https://arxiv.org/abs/1508.07680",
  options: {
    seed: option(0, "which digits go to which domain"),
    interpolation: option("bilinear", "bilinear, or bicubic as the reference did until April 2021 and SWAD does"),
  },
  published: {
    domains: angles.map((angle, i) => ({ name: String(angle), label: String(angle), count: i < 4 ? 11667 : 11666 })),
    classes: digits,
    total: 70000,
  },
  open({ root, options }) {
    const interpolation = checkInterpolation(options.interpolation);
    const mnist = readMnist(root);
    const dealt = dealDigits(mnist, angles.length, options.seed);
    const domains = angles.map((angle, i): ArrayDomain => {
      const rotate = pictureRotator(mnist.height, mnist.width, angle, interpolation);
      return {
        name: String(angle),
        count: dealt[i].length,
        labels: Int32Array.from(dealt[i], (place) => mnist.labels[place]),
        read: (sample) => rotate(digitPixels(mnist, dealt[i][sample])),
      };
    });
    return {
      id: "rotated-mnist",
      title: "RotatedMNIST",
      kind: "arrays",
      root: mnist.root,
      hasDomains: true,
      inputShape: [1, mnist.height, mnist.width],
      augmentable: false,
      options,
      classes: digits,
      domains,
      notes: [],
    };
  },
});
