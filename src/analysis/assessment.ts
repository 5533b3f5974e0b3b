/**
 * What became of a run's model on pictures it was not trained on, as plain data: `assessment.json` in the run's folder, which
 * the run's report and the dashboard read. A domain that was held out is assessed on all its pictures; one that was trained on,
 * on those held back for validation. Pictures are as they are, without augmentation.
 */

import * as v from "valibot";
import { readText } from "../files/open-file.js";
import { numberSchema, parseStored, type Schema, textsSchema, wholeSchema } from "../files/stored-json.js";
import { confusionMatrix, mostWrong, type Share, shareOf } from "./assess.js";
import { type Calibration, calibration, type ReliabilityBin } from "./calibration.js";
import { isRight, type Judged } from "./judged.js";

/** Whether a domain's pictures were all kept from training, or only some of them. */
export type AssessedPart = "held out" | "validation";

/** How the model did on one domain. */
export interface AssessedDomain extends Share {
  readonly name: string;
  readonly part: AssessedPart;
  /** Counts: `confusion[label][predicted]`, as places among the classes. */
  readonly confusion: readonly (readonly number[])[];
}

/** A picture the model was wrong about. */
export interface WrongPicture {
  readonly domain: string;
  readonly part: AssessedPart;
  /** Relative to the dataset's root. */
  readonly path: string;
  /** The class it is of, and the one the model says. */
  readonly label: string;
  readonly predicted: string;
  /** The probability of the class it says, and of the class it is of. */
  readonly confidence: number;
  readonly truth: number;
  readonly loss: number;
  /** Where the picture speaks for the class that the model says: rows of values from 0 to 1; not there where it is not known. */
  readonly heat?: readonly (readonly number[])[];
}

/** A reliability diagram as JSON holds it: an empty bin has no means. */
export interface StoredCalibration extends Omit<Calibration, "bins"> {
  readonly bins: readonly (Omit<ReliabilityBin, "confidence" | "accuracy"> & {
    readonly confidence: number | null;
    readonly accuracy: number | null;
  })[];
}

/** All that `assessment.json` holds. */
export interface Assessment {
  readonly format: 1;
  /** `current`, or the follower whose average the model is; and its last update. */
  readonly model: string;
  readonly step: number;
  readonly classes: readonly string[];
  readonly domains: readonly AssessedDomain[];
  /** By part, where there are pictures of it. */
  readonly calibration: { readonly [P in AssessedPart]?: StoredCalibration };
  /** The surest mistakes first, held-out domains before the others. */
  readonly mostWrong: readonly WrongPicture[];
  /** How many trials accuracies and intervals are of, with the spread over seeds and splits in them; absent for one, whose intervals have none. */
  readonly trials?: number;
  /** Set where heat maps are not of the model that made the mistakes, but of the one that was trained on all domains. */
  readonly heatOfFinal?: true;
  /** Pictures of the dataset that could not be read, and count nowhere; not there in files of earlier versions. */
  readonly unreadable?: readonly string[];
}

export const ASSESSMENT_FILE = "assessment.json";

/** Mistakes that are kept of each part. */
const MOST_WRONG = 24;

const PARTS: readonly AssessedPart[] = ["held out", "validation"];

/** Puts an assessment together from judged pictures; a domain's pictures are all of one part. */
export function assessmentOf(
  pictures: readonly Judged[],
  {
    model,
    step,
    classes,
    heldOut,
    unreadable = [],
  }: Pick<Assessment, "model" | "step" | "classes" | "unreadable"> & { readonly heldOut: readonly string[] },
): Assessment {
  const partOf = (domain: string): AssessedPart => (heldOut.includes(domain) ? "held out" : "validation");
  const names = [...new Set(pictures.map(({ domain }) => domain))];
  const domains = names.map((name): AssessedDomain => {
    const own = pictures.filter(({ domain }) => domain === name);
    const right = own.filter(isRight).length;
    return { name, part: partOf(name), ...shareOf(right, own.length), confusion: confusionMatrix(own, classes.length) };
  });
  const byPart = PARTS.map((part) => ({ part, own: pictures.filter(({ domain }) => partOf(domain) === part) }));
  return {
    format: 1,
    ...{ model, step, classes, domains },
    calibration: Object.fromEntries(
      byPart.filter(({ own }) => own.length > 0).map(({ part, own }) => [part, stored(calibration(own))]),
    ),
    mostWrong: byPart.flatMap(({ part, own }) =>
      mostWrong(own, MOST_WRONG).map(({ domain, name, label, predicted, confidence, truth, loss }) => ({
        ...{ domain, part, path: name, label: classes[label], predicted: classes[predicted] },
        ...{ confidence, truth, loss },
      })),
    ),
    unreadable,
  };
}

const stored = ({ bins, ...rest }: Calibration): StoredCalibration => ({
  ...rest,
  bins: bins.map((bin) => (bin.count > 0 ? bin : { ...bin, confidence: null, accuracy: null })),
});

/** A reliability diagram as it was before it was stored. */
export const readCalibration = ({ bins, ...rest }: StoredCalibration): Calibration => ({
  ...rest,
  bins: bins.map((bin) => ({
    ...bin,
    confidence: bin.confidence ?? Number.NaN,
    accuracy: bin.accuracy ?? Number.NaN,
  })),
});

/** The held-out parts of several assessments, of runs that each held out another domain, as one. */
export function heldOutTogether(assessments: readonly Assessment[]): Assessment {
  const [first] = assessments;
  const domains = assessments.flatMap((each) => each.domains.filter(({ part }) => part === "held out"));
  const held = assessments.flatMap((each) => each.calibration["held out"] ?? []);
  const wrong = assessments.flatMap((each) => each.mostWrong.filter(({ part }) => part === "held out"));
  return {
    ...first,
    domains,
    calibration: held.length > 0 ? { "held out": together(held) } : {},
    mostWrong: wrong.sort((a, b) => b.loss - a.loss).slice(0, MOST_WRONG),
  };
}

/** One reliability diagram from several with the same bins. */
function together(all: readonly StoredCalibration[]): StoredCalibration {
  const bins = all[0].bins.map(({ from, to }, i) => {
    const own = all.map((each) => each.bins[i]).filter(({ count }) => count > 0);
    const count = own.reduce((sum, bin) => sum + bin.count, 0);
    const mean = (key: "confidence" | "accuracy"): number | null =>
      count === 0 ? null : own.reduce((sum, bin) => sum + bin.count * bin[key]!, 0) / count;
    return { from, to, count, confidence: mean("confidence"), accuracy: mean("accuracy") };
  });
  const filled = bins.filter(({ count }) => count > 0);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  const gaps = filled.map((bin) => ({ count: bin.count, gap: bin.confidence! - bin.accuracy! }));
  return {
    bins,
    ece: gaps.reduce((sum, { count, gap }) => sum + (count / total) * Math.abs(gap), 0),
    worst: Math.max(0, ...gaps.map(({ gap }) => Math.abs(gap))),
    overconfidence: gaps.reduce((sum, { count, gap }) => sum + (count / total) * gap, 0),
  };
}

/** The sum of some confusion matrices. */
export function summedConfusion(domains: readonly AssessedDomain[], classes: number): number[][] {
  return Array.from({ length: classes }, (_, label) =>
    Array.from({ length: classes }, (_, predicted) =>
      domains.reduce((sum, { confusion }) => sum + confusion[label][predicted], 0),
    ),
  );
}

/** Reads an assessment. */
export const readAssessment = (path: string): Assessment => parseAssessment(path, readText(path));

/** The assessment in the text of a file. */
export const parseAssessment = (path: string, text: string): Assessment =>
  parseStored(assessmentSchema, text, { path, what: "the assessment of a run" });

const partSchema = v.picklist(["held out", "validation"], '"held out" or "validation"');
const shareSchema = v.nullable(numberSchema);

const domainSchema = v.looseObject(
  {
    name: v.string("a name"),
    part: partSchema,
    count: wholeSchema,
    right: wholeSchema,
    accuracy: numberSchema,
    interval: v.tuple([numberSchema, numberSchema], "two numbers"),
    confusion: v.array(v.array(wholeSchema, "counts"), "a list of rows"),
  },
  "a domain",
);

const calibrationSchema = v.looseObject({
  bins: v.array(
    v.looseObject({
      ...{ from: numberSchema, to: numberSchema, count: wholeSchema },
      ...{ confidence: shareSchema, accuracy: shareSchema },
    }),
    "a list of bins",
  ),
  ...{ ece: numberSchema, worst: numberSchema, overconfidence: numberSchema },
});

/** JSON has no word for the loss of a class that was given no probability at all. */
const lossSchema = v.pipe(
  v.nullable(numberSchema),
  v.transform((loss) => loss ?? Number.POSITIVE_INFINITY),
);

const wrongSchema = v.looseObject({
  ...{ domain: v.string("a name"), part: partSchema, path: v.string("a path") },
  ...{ label: v.string("a class"), predicted: v.string("a class") },
  ...{ confidence: numberSchema, truth: numberSchema, loss: lossSchema },
});

const assessmentSchema: Schema<Assessment> = v.looseObject({
  format: v.literal(1, "1"),
  model: v.string("a name"),
  step: wholeSchema,
  classes: textsSchema,
  domains: v.array(domainSchema, "a list of domains"),
  calibration: v.object({ "held out": v.optional(calibrationSchema), validation: v.optional(calibrationSchema) }),
  mostWrong: v.array(wrongSchema, "a list of pictures"),
  unreadable: v.optional(textsSchema),
});
