/**
 * The paper's tables and figures as sweeps, and ERM++, each with the protocol behind its numbers. Table 1 and the tables by
 * dataset combine two protocols, and so do these presets: rows that the paper quotes from DomainBed are searched with
 * 20 draws in DomainBed's protocol; rows of SWAD's code and its descendants, including NU, use the defaults in SWAD's
 * protocol, and so do the methods that NU is added to, once more, for a fair pair (ERM costs nothing there, because it
 * shares the run of SWAD).
 *
 * If a table or figure compares with and without the penalty (Table 2, Figures 3 and 4), all its rows use SWAD's
 * protocol, so that they differ only in the penalty; the paper quotes ERM and Mixup there from DomainBed.
 */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { type GivenPart, type SweepPart, usualPart } from "./sweep-request.js";

type PresetPart = GivenPart & Pick<SweepPart, "data" | "algorithms">;

export interface Preset {
  readonly id: string;
  /** The table or figure that it reproduces. */
  readonly title: string;
  /** Notes on its protocol. */
  readonly about: string;
  readonly parts: readonly PresetPart[];
}

const FIVE = ["vlcs", "pacs", "office-home", "terra-incognita", "domain-net"];
const DRAWS = Array.from({ length: 20 }, (_, i) => i);

const inDomainBed = (data: readonly string[], algorithms: readonly string[]): PresetPart => ({
  data,
  algorithms,
  hparams: DRAWS,
});
const inSwad = (data: readonly string[], algorithms: readonly string[], more: GivenPart = {}): PresetPart => ({
  data,
  algorithms,
  settings: { protocol: "swad" },
  ...more,
});

/** The rows that Table 1 quotes from DomainBed and from papers with its protocol. */
const QUOTED = [
  ...["MMD", "GroupDRO", "IRM", "ARM", "VREx", "CDANN", "AND-mask", "DANN", "RSC", "MTL", "Mixup", "MLDG"],
  ...["Fish", "Fishr", "SagNet", "SelfReg", "CORAL", "mDSDI", "ERM"],
];
const BOTH =
  "Rows quoted from DomainBed use its protocol with 20 draws of hyperparameters (seed 0 is the defaults); the others use SWAD's protocol with the defaults. Methods that NU is added to use both, so that there is a fair pair.";
const PAIRS =
  "All rows use SWAD's protocol with the defaults, so that they differ only in the penalty; the paper quotes ERM and Mixup from DomainBed.";

const byDataset = (number: number, data: string, title: string): Preset => ({
  id: `table${number}`,
  title: `Table ${number}: ${title}, each domain held out, 22 methods`,
  about: BOTH,
  parts: [
    inDomainBed(
      [data],
      QUOTED.filter((name) => name !== "Fish"),
    ),
    inSwad([data], ["ERM", "ERM-NU", "Mixup", "Mixup-NU", "SWAD", "SWAD-NU"]),
  ],
});

const SIX = ["ERM", "ERM-NU", "Mixup", "Mixup-NU", "SWAD", "SWAD-NU"];
const WITH_SWAD = ["SWAD", "SWAD-CORAL", "SWAD-MIRO", "SWAD-NU"];

/** Presets by name: those of the paper in its order, then others. */
export const presets: Readonly<Record<string, Preset>> = Object.fromEntries(
  [
    {
      id: "table1",
      title: "Table 1: 25 methods on five datasets",
      about: BOTH,
      parts: [inDomainBed(FIVE, QUOTED), inSwad(FIVE, ["MixStyle", "SAM", "MIRO", "ERM", "ERM-NU", "SWAD", "SWAD-NU"])],
    },
    {
      id: "table2",
      title: "Table 2: ERM, Mixup and SWAD with and without NU, by domain of five datasets",
      about: PAIRS,
      parts: [inSwad(FIVE, SIX)],
    },
    {
      id: "table3",
      title: "Table 3: SWAD with CORAL, MIRO and NU on three datasets",
      about: "SWAD's protocol with the defaults.",
      parts: [inSwad(["vlcs", "pacs", "domain-net"], WITH_SWAD)],
    },
    {
      id: "table4",
      title: "Table 4: SWAD with CORAL, MIRO and NU on five datasets",
      about: "SWAD's protocol with the defaults.",
      parts: [inSwad(FIVE, WITH_SWAD)],
    },
    byDataset(5, "vlcs", "VLCS"),
    byDataset(6, "pacs", "PACS"),
    byDataset(7, "office-home", "OfficeHome"),
    byDataset(8, "terra-incognita", "TerraIncognita"),
    byDataset(9, "domain-net", "DomainNet"),
    {
      id: "figure2",
      title: "Figure 2: ERM and ERM-NU on the two-dimensional task of Section 3.1",
      about:
        "The paper's formula (the sum of singular values, from the first step) on a linear map, ten trials. nudge synthetic has the same task with full gradients, decision boundaries and more starts.",
      parts: [
        {
          data: ["toy-2d"],
          algorithms: ["ERM", "ERM-NU"],
          testDomains: ["out-of-domain"],
          trials: Array.from({ length: 10 }, (_, i) => i),
          settings: {
            backbone: "linear-map",
            steps: 2001,
            evaluateEvery: 100,
            batchSize: 800,
            "nuclear-norm.scaling": "sum",
            "nuclear-norm.warmup": 0,
          },
        },
      ],
    },
    {
      id: "figure3",
      title: "Figure 3: the effect of NU on ERM, Mixup and SWAD on five datasets",
      about: `The runs of Table 2. ${PAIRS}`,
      parts: [inSwad(FIVE, SIX)],
    },
    {
      id: "figure4",
      title: "Figure 4: accuracy and stable rank of ERM-NU against the weight, on five datasets",
      about:
        "SWAD's protocol with the defaults. The paper does not list its weights; these cover its search range, 10^-2.5 to 10^-1.5, and half a decade on each side. ERM is weight 0.",
      parts: [inSwad(FIVE, ["ERM", "ERM-NU"], { grid: { "nuclear-norm.weight": [0.001, 0.003, 0.01, 0.03, 0.1] } })],
    },
    {
      id: "erm-plus-plus",
      title: "ERM++ as its paper trains it, on five datasets",
      about:
        "Not a table of this paper. Training is longer, the schedule follows the validation loss and ends the run, and then the run trains again on all pictures of the training domains, which is the row Retrained-ERM++. ERM with the defaults is beside it.",
      parts: [
        {
          data: FIVE,
          algorithms: ["ERM++"],
          settings: { steps: 15001, schedule: "plateau", "plateau.from": 500, retrain: true },
        },
        { data: FIVE, algorithms: ["ERM"] },
      ],
    },
  ].map((preset) => [preset.id, preset]),
);

/** Figure 1 trains no networks. */
const FIGURE_1 =
  "figure1: Figure 1a is a drawing, and Figure 1b needs no sweep: nudge synthetic --figure DIR draws it as synthetic-figure-1b";

/** The preset with this name. An unknown name is an error that suggests the closest one. */
export function presetNamed(name: string): Preset {
  if (name === "figure1") throw new UsageError(FIGURE_1);
  if (!Object.hasOwn(presets, name)) throw new UsageError(unknownName("preset", name, Object.keys(presets)));
  return presets[name];
}

/** The number of runs of a part on each held-out domain, as text: `19 methods × 3 trials × 20 draws`. */
export function partInWords({
  algorithms,
  trials = usualPart.trials,
  hparams = usualPart.hparams,
  grid,
  settings,
}: PresetPart): string {
  const count = (n: number, what: string): string[] => (n > 1 ? [`${n} ${what}`] : []);
  const axes = [
    ...(algorithms.length === 1 ? ["1 method"] : [`${algorithms.length} methods`]),
    ...count(trials.length, "trials"),
    ...count(hparams.length, "draws"),
    ...Object.entries(grid ?? {}).map(([name, values]) => `${values.length} values of ${name}`),
  ];
  const whose = settings?.protocol === "swad" ? "SWAD's" : "DomainBed's";
  return `${axes.join(" × ")}, ${whose} protocol: ${algorithms.join(", ")}`;
}
