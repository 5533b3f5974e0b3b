import { expect, test } from "vitest";
import type { FeatureMeasure } from "./chosen-features.js";
import { weightFigure } from "./weight-figure.js";
import type { StudiedKind, StudiedSetting, WeightStudy } from "./weight-study.js";
import { weightTable } from "./weight-table.js";

type Measures = Record<FeatureMeasure, number | null>;

const nothing: Measures = {
  nuclearNorm: null,
  frobeniusNorm: null,
  stableRank: null,
  centredStableRank: null,
  effectiveRank: null,
  centredEffectiveRank: null,
};

function setting(
  weight: number,
  accuracy: number,
  more: Partial<StudiedSetting> & { measures?: Partial<Measures> } = {},
) {
  const { measures = {}, ...rest } = more;
  const features = { ...nothing, ...measures };
  return {
    ...{
      method: `${weight}`,
      weight,
      perSample: weight,
      accuracy,
      accuracies: [accuracy, accuracy],
      step: 1333.3,
      runs: 2,
    },
    unpenalised: 0,
    late: { accuracy: accuracy - 0.01, size: features.frobeniusNorm, difference: null },
    difference:
      weight === 0 ? null : { mean: accuracy - 0.8, interval: null, trials: 1, error: null, p: null, pairs: 2 },
    features: { "training domains": features, "held-out domain": features },
    ...rest,
  } satisfies StudiedSetting;
}

const kindOf = (title: string, settings: StudiedSetting[]): StudiedKind => ({
  ...{ title, settings },
  penalty: title === "weight decay" ? "weightDecay" : title.split(" ")[0],
});

const study = (kinds: StudiedKind[], more: Partial<WeightStudy> = {}): WeightStudy => ({
  ...{ dataset: "pacs", title: "ERM on PACS", plain: "ERM", domains: ["A", "S"], trials: [0], rows: null },
  baseline: setting(0, 0.8, { measures: { frobeniusNorm: 900, stableRank: 1.4 } }),
  kinds,
  notes: [],
  ...more,
});

const measured = [0.01, 0.1].map((weight) =>
  setting(weight, 0.8 + weight / 10, { measures: { frobeniusNorm: 9 / weight, stableRank: 2 + weight } }),
);

/** The text of every label. */
const words = (svg: string): string[] => Array.from(svg.matchAll(/<text[^>]*>([^<]*)</g), ([, text]) => text);

test("accuracy and rank are drawn against the weight with the plain method across, and accuracy by size", () => {
  const svg = weightFigure(study([kindOf("nuclear-norm", measured)]));
  expect(words(svg)).toEqual(
    expect.arrayContaining([
      "The penalty&#39;s weight: ERM on PACS",
      "Held-out accuracy, chosen and late",
      "nuclear-norm: λ of (λ/n)·‖F‖",
      "Held-out features: stable rank",
      "stable, nuclear-norm",
      "stable, ERM",
      "‖F‖_F of the training domains&#39; features",
    ]),
  );
  expect(words(svg)).not.toContain("Held-out features: effective rank"); // not recorded
});

test("a weight of the sum is drawn where the same pull per sample is, and the figure says so", () => {
  const sum = setting(0.001, 0.8, { perSample: 0.096 });
  const svg = weightFigure(
    study([kindOf("nuclear-norm", measured), kindOf("nuclear-norm scaling=sum", [sum])], { rows: 96 }),
  );
  expect(words(svg)).toContain("scaling=sum: weight·‖F‖ is drawn at λ = 96·weight");
  // In the first panel, 0.096 is next to 0.1: triangles are the second kind, circles the first.
  const panel = svg.slice(0, svg.indexOf("Held-out features"));
  const circles = Array.from(panel.matchAll(/<circle cx="([\d.]+)"/g), ([, x]) => Number(x));
  const triangles = Array.from(panel.matchAll(/<path d="M([\d.]+) [\d.]+l4\.2 7\.4/g), ([, x]) => Number(x));
  const [sumAt, heaviest] = [triangles[2], Math.max(...circles.slice(2))]; // the first two of each are in the legend
  expect(sumAt).toBeLessThan(heaviest);
  expect(sumAt).toBeGreaterThan(heaviest - 12);
});

test("without recorded features there is the accuracy alone, with intervals as bars about the plain method's", () => {
  const interval = [-0.01, 0.03] as const;
  const difference = { mean: 0.01, interval, trials: 3, error: 0.005, p: 0.2, pairs: 6 };
  const ranged = [0.01, 0.1].map((weight) => setting(weight, 0.81, { difference }));
  const svg = weightFigure(study([kindOf("nuclear-norm", ranged)], { baseline: setting(0, 0.8) }));
  expect(words(svg)).toContain("Held-out accuracy, chosen and late; bars: 95%, paired");
  expect(words(svg)).not.toContain("Held-out features: stable rank");
  expect(svg.match(/stroke-width="1\.2"/g)).toHaveLength(2);
  expect(words(svg)).toEqual(expect.arrayContaining(["80", "82"])); // from 79 to 83
  expect(words(svg)).not.toContain("40");
});

test("weights that broke training do not flatten the others by size, and are counted", () => {
  const broken = setting(1, 0.3, { measures: { frobeniusNorm: 3 } });
  const svg = weightFigure(study([kindOf("nuclear-norm", [...measured, broken])]));
  const bySize = words(svg.slice(svg.indexOf("Late accuracy by size")));
  expect(bySize).toContain("500");
  expect(bySize).not.toContain("10");
  expect(words(svg)).toContain(
    "Lines go from the smallest weight to the largest; not drawn: 1 that lost 10 points or more",
  );
  expect(words(weightFigure(study([kindOf("nuclear-norm", measured)])))).toContain(
    "Lines go from the smallest weight to the largest",
  );
});

test("a weight at which selection fell back on a step before the penalty is not drawn as one of its", () => {
  const fallen = setting(0.9, 0.75, { unpenalised: 1, measures: { frobeniusNorm: 850, stableRank: 1.4 } });
  const svg = weightFigure(study([kindOf("nuclear-norm", [...measured, fallen])]));
  const notes = words(svg).filter((text) => text.startsWith("not drawn: λ = 0.9, where training broke"));
  expect(notes).toHaveLength(2); // under accuracy and stable rank
  const without = weightFigure(study([kindOf("nuclear-norm", measured)]));
  expect(svg.match(/<circle/g)).toHaveLength(without.match(/<circle/g)?.length ?? 0);
});

test("a table has a row a setting: what it is, accuracies, the difference, size and rank", () => {
  const decay = setting(0.001, 0.79, { perSample: null, measures: { frobeniusNorm: 850, stableRank: 1.5 } });
  const {
    head,
    rows,
    words: about,
  } = weightTable(study([kindOf("nuclear-norm", measured), kindOf("weight decay", [decay])]));
  const heading = "penalty,weight,λ per sample,A,S,mean,− ERM,late,− ERM,‖F‖_F,stable rank,step";
  expect(head.join()).toBe(heading); // no column of intervals: one trial has none
  expect(rows.map((row) => row.join())).toEqual([
    "none (ERM),0,0,80.0,80.0,80.0,–,79.0,–,900,1.40,1333",
    "nuclear-norm,0.01,0.01,80.1,80.1,80.1,+0.1,79.1,–,900,2.01,1333",
    "nuclear-norm,0.1,0.1,81.0,81.0,81.0,+1.0,80.0,–,90.0,2.10,1333",
    "weight decay,0.001,–,79.0,79.0,79.0,-1.0,78.0,–,850,1.50,1333",
  ]);
  expect(about.join(" ")).toContain("over trial 0, which all rows have");
  expect(about.join(" ")).toContain("an interval needs two trials");
});
