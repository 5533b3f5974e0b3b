/** The blocks of the study "rank or scale" as data (docs/study.md): which methods, with which settings, in which trials. */

/**
 * A row of a block: a method as it is named on the command line, and its settings. A row with a `setting` needs a value that is calibrated for each
 * dataset and backbone, in trial 0, which is not analysed. `values` are those that the calibration runs. `by` is the rule: "scale" is the value at which
 * ‖F‖_F on validation pictures is ERM-NU's; "accuracy" is the largest at which validation accuracy is at most a point below ERM's.
 *
 * @typedef {{ name: string, method?: string, settings?: string[], setting?: string, values?: number[], by?: "scale" | "accuracy" }} Row
 * @typedef {{ about: string, rows: Row[], trials: string, data?: string, backbone?: string, options: string[], out?: string, pack?: string }} Block
 */

/** @param {string} names @returns {Row[]} */
const named = (names) => names.split(" ").map((name) => ({ name }));
/** @param {string} name @param {string} setting @param {number[]} values @param {Partial<Row>} more @returns {Row} */
const matched = (name, setting, values, more = {}) => ({ name, setting, values, by: "scale", ...more });

const [erm, nu, norm, normNu] = named("ERM ERM-NU NormERM NormERM-NU");
const fro = matched("ERM-FRO", "frobenius-norm.weight", [0.015, 0.05, 0.15]);
const ratio = matched("ERM-RATIO", "norm-ratio.weight", [0.03, 0.1, 0.3, 1], { by: "accuracy" });

const finetuned = ["--precision", "bf16", "--steps", "2001", "evaluateTraining=false"];
const measured = [...finetuned, "--eval-every", "200", "measures=all"];
/** As the kept runs of ERM, Mixup, SWAD and CORAL with and without NU, so that one report reads them together. */
const asKept = [...finetuned, "--eval-every", "100"];

/** @type {Record<string, Block>} */
export const BLOCKS = {
  primary: {
    about: "block 1: the six methods on PACS",
    rows: [erm, nu, fro, norm, normNu, ratio],
    ...{ trials: "3-7", options: measured },
  },
  dataset: {
    about: "block 2: four methods on another dataset, Office-31 by default",
    rows: [erm, nu, fro, ratio],
    ...{ trials: "1-5", data: "office31", options: measured },
  },
  controls: {
    about: "block 3: the other controls; the last three are of the optimization and are not matched in scale",
    rows: [
      matched("ERM-CNU", "centred-nuclear-norm.weight", [0.005, 0.02, 0.08]),
      matched("ERM-ROW", "row-norm.weight", [0.0015, 0.005, 0.015]),
      matched("ERM-TOP", "top-singular-value.weight", [0.02, 0.06, 0.2]),
      matched("ERM-LOWER", "lower-singular-values.weight", [0.005, 0.02, 0.08]),
      matched("ERM-VAR", "feature-variance.weight", [0.03, 0.1, 0.3]),
      matched("ERM-FRO on=logits", "frobenius-norm.weight", [0.05, 0.2, 0.8], {
        ...{ method: "ERM-FRO", settings: ["frobenius-norm.on=logits"] },
      }),
      matched("ERM-RAISE-FRO", "frobenius-norm.weight", [0.015, 0.05, 0.15], { settings: ["rank-raising.weight=0.1"] }),
      matched("ScaledERM", "scaled-erm.featureScale", [0.05, 0.15, 0.45]),
      { name: "ScaledERM temperature=5", method: "ScaledERM", settings: ["scaled-erm.temperature=5"] },
      { name: "ERM headLr=10", method: "ERM", settings: ["headLr=10"] },
      { name: "ERM clipNorm=1", method: "ERM", settings: ["clipNorm=1"] },
    ],
    ...{ trials: "3-5", options: measured, out: "sweeps/study-controls" },
  },
  table1: {
    about: "block 4: the methods of Table 1 that are not kept yet, and NU on top of six of them",
    rows: named(
      "MMD GroupDRO IRM ARM VREx CDANN AND-mask DANN RSC MTL MLDG Fish Fishr SagNet SelfReg mDSDI MixStyle SAM MIRO " +
        "GroupDRO-NU VREx-NU RSC-NU MTL-NU SagNet-NU SAM-NU",
    ),
    ...{ trials: "0-2", options: asKept, out: "sweeps/study-table1" },
  },
  coral: {
    about: "block 4: what is missing of CORAL-NU",
    rows: named("CORAL CORAL-NU SWAD-CORAL SWAD-CORAL-NU"),
    ...{ trials: "0-2", options: asKept, out: "sweeps/pacs-coral", pack: "results/pacs-coral.nudge" },
  },
  misleading: {
    about: "block 5: generated shapes on a background that misleads in the held-out domain, on the CPU",
    rows: [erm, nu, fro, ratio],
    ...{ trials: "1-10", data: "misleading-shapes", backbone: "small-cnn", out: "sweeps/study-misleading" },
    options: [
      ...["--test-domains", "textured", "--steps", "601", "--eval-every", "50", "--device", "cpu"],
      ...["dataAugmentation=false", "evaluateTraining=false", "measures=all"],
    ],
  },
  backbone: {
    about: "block 6: a second backbone",
    rows: [erm, nu, fro, ratio],
    ...{ trials: "3-7", backbone: "resnet18", options: measured, out: "sweeps/study-resnet18" },
  },
  search: {
    about: "block 6: five draws of hyperparameters, the defaults first",
    rows: [erm, nu],
    ...{ trials: "3-5", options: [...measured, "--hparams", "5"], out: "sweeps/study-search" },
  },
};

/** The calibrated values, by dataset and backbone: what `set-weights.mjs` printed for trials that are not analysed. @type {Record<string, Record<string, number>>} */
export const WEIGHTS = {
  "pacs mobilenet_v2": { "ERM-FRO": 0.042, "ERM-RATIO": 0.3 },
  "office31 mobilenet_v2": { "ERM-FRO": 0.041, "ERM-RATIO": 1 },
  "misleading-shapes small-cnn": { "ERM-FRO": 0.024, "ERM-RATIO": 0.3 },
};

/** The key of a dataset and a backbone in WEIGHTS. @param {string} data @param {string} backbone */
export const keyOf = (data, backbone) => `${data.replace("office-31", "office31")} ${backbone}`;

/** The rows that are calibrated, each once. */
export const CALIBRATED = [...new Set(Object.values(BLOCKS).flatMap(({ rows }) => rows))].filter(
  ({ setting }) => setting !== undefined,
);
