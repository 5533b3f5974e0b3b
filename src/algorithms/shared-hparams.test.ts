import { expect, test } from "vitest";
import { hparam, uniform } from "../hparams.js";
import { nuclearNorm } from "../regularizers/nuclear-norm.js";
import { armOverrides, datasetSize, learningRate, sharedHparams, weightDecay } from "./shared-hparams.js";

const summary = (given: Parameters<typeof sharedHparams>[0]) =>
  Object.values(sharedHparams(given)).map((one) => `${one.reference} ${one.default} ${one.range.text}`);

const common = [
  "resnet_dropout 0 {0, 0.1, 0.5}",
  "data_augmentation true {true}",
  "class_balanced false {false}",
  "nonlinear_classifier false {false}",
  "freeze_bn true {true}",
];

test("small and large datasets have the reference's defaults and ranges", () => {
  expect(summary({ dataset: "rotated-mnist", size: "small" })).toEqual([
    "lr 0.001 10^U(-4.5, -2.5)",
    "weight_decay 0 {0}",
    "batch_size 64 int(2^U(3, 9))",
    ...common,
  ]);
  expect(summary({ dataset: "pacs", size: "large" })).toEqual([
    "lr 0.00005 10^U(-5, -3.5)",
    "weight_decay 0 10^U(-6, -2)",
    "batch_size 32 int(2^U(3, 5.5))",
    ...common,
  ]);
});

test("DomainNet, ARM and NU replace the batch size, each before the next", () => {
  const batches = (dataset: string, ...overrides: Parameters<typeof sharedHparams>[0]["overrides"] & object) =>
    sharedHparams({ dataset, size: "large", overrides }).batchSize.range.text;
  for (const name of ["DomainNet", "domain_net", "domainnet"]) expect(batches(name)).toBe("int(2^U(3, 5))");
  expect(batches("DomainNet", armOverrides)).toBe("{8}");
  expect(batches("DomainNet", undefined, nuclearNorm.overrides)).toBe("int(2^U(5, 6))");
  expect(batches("pacs", nuclearNorm.overrides)).toBe("int(2^U(5, 6))");
  expect(sharedHparams({ dataset: "pacs", size: "large", overrides: [armOverrides] }).batchSize.default).toBe(8);
});

test("on small datasets ARM and NU have the shared batch size", () => {
  const overrides = [armOverrides, nuclearNorm.overrides];
  expect(sharedHparams({ dataset: "colored-mnist", size: "small", overrides })).toEqual(
    sharedHparams({ dataset: "colored-mnist", size: "small" }),
  );
});

test("the second learning rates of adversarial methods are drawn under their own names", () => {
  expect([learningRate("large", "lr_g"), weightDecay("large", "weight_decay_g")].map((one) => one.reference)).toEqual([
    "lr_g",
    "weight_decay_g",
  ]);
  expect(learningRate("small", "lr_d").default).toBe(1e-3);
});

test.each([
  ["RotatedMNIST", [1, 28, 28], "small"],
  ["colored-mnist", [2, 28, 28], "small"],
  ["pacs", [3, 224, 224], "large"],
  ["my pictures", [3, 32, 32], "small"],
  ["my pictures", [3, 32, 64], "large"],
  ["points", [2], "small"],
])("%s of %o is %s", (id, shape, size) => {
  expect(datasetSize(id, shape)).toBe(size);
});

test("an override of something that is not shared is refused with the nearest name", () => {
  const overrides = [{ large: { batchsize: hparam(8, uniform(1, 2)) } }];
  expect(() => sharedHparams({ dataset: "pacs", size: "large", overrides })).toThrow(
    'unknown shared hyperparameter "batchsize": did you mean "batchSize"?',
  );
});
