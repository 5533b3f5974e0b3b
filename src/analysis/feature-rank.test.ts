import { expect, test } from "vitest";
import { orthonormal } from "../../tests/support/matrices.js";
import { scope } from "../engine/scope.js";
import { UsageError } from "../errors.js";
import { featureRankAnalysis, featureRankChart } from "./feature-rank.js";

/** Features of `rank` equal directions around zero, and a mean that outweighs them when `mean` is large. */
const features = (rank: number, mean = 0) =>
  orthonormal(160, rank)
    .mm(orthonormal(90, rank, 5).t())
    .add(mean);

test("rows are sorted by label and weight, with measures and accuracy", () =>
  scope(() => {
    const { rows } = featureRankAnalysis([
      { weight: 0.01, features: features(60), accuracy: 0.7, label: "sketch" },
      { weight: 0, features: features(80), accuracy: 0.6, label: "sketch" },
      { weight: 0, features: features(70), accuracy: 0.5, label: "photo" },
    ]);
    expect(rows.map(({ label, weight, accuracy }) => [label, weight, accuracy])).toEqual([
      ["photo", 0, 0.5],
      ["sketch", 0, 0.6],
      ["sketch", 0.01, 0.7],
    ]);
    expect(rows.map(({ stableRank }) => Math.round(stableRank))).toEqual([70, 80, 60]);
  }));

test("the text says where the paper's level is reached and where it is not", () =>
  scope(() => {
    const { verdicts } = featureRankAnalysis([
      { weight: 0, features: features(80, 1), accuracy: 0.6 },
      { weight: 0.1, features: features(20, 1), accuracy: 0.7 },
    ]);
    const [plain, centred] = verdicts;
    expect(plain.measure).toBe("stableRank");
    expect(plain.reached).toEqual([]);
    expect(plain.words).toMatch(
      /^stable rank, not centred \(the paper's definition\): 1\.0, below the paper's level \(50 to over 100\) everywhere/,
    );
    expect(centred.measure).toBe("centredStableRank");
    expect(centred.reached.map(({ weight }) => weight)).toEqual([0]);
    expect(centred.words).toMatch(
      /at the paper's level \(50 to over 100\) for weight 0 only; it never rises as the weight grows$/,
    );
    expect(centred.neverRises).toBe(true);
  }));

test("the text reports a rank that rises with the weight", () =>
  scope(() => {
    const { verdicts } = featureRankAnalysis([
      { weight: 0, features: features(20), accuracy: 0.6, label: "sketch" },
      { weight: 0.1, features: features(70), accuracy: 0.7, label: "sketch" },
    ]);
    expect(verdicts[0].neverRises).toBe(false);
    expect(verdicts[0].words).toMatch(/for sketch at weight 0.1 only; it rises somewhere as the weight grows$/);
  }));

test("with fewer samples than the level the words blame the samples", () =>
  scope(() => {
    const { verdicts } = featureRankAnalysis([{ weight: 0, features: orthonormal(30, 10), accuracy: 0.5 }]);
    expect(verdicts[0].words).toBe(
      "stable rank, not centred (the paper's definition): 10, below the paper's level (50 to over 100) everywhere, " +
        "as it must be with at most 10 directions",
    );
    expect(verdicts[0].neverRises).toBeNull();
  }));

test("the chart has a rank panel and an accuracy panel per label, and says where weight 0 is drawn", () =>
  scope(() => {
    const { rows } = featureRankAnalysis(
      [0, 0.01, 0.1].flatMap((weight, i) => [
        { weight, features: features(60 - 20 * i), accuracy: 0.6 + 0.02 * i, label: "sketch" },
        { weight, features: features(50 - 20 * i, 1), accuracy: 0.8, label: "photo" },
      ]),
    );
    const svg = featureRankChart(rows);
    for (const title of ["sketch: rank", "sketch: accuracy", "photo: rank", "photo: accuracy"])
      expect(svg).toContain(title);
    expect(svg).toContain("weight 0 is drawn at 0.001");
  }));

test("no runs, and weights below 0, are refused", () => {
  expect(() => featureRankAnalysis([])).toThrow(UsageError);
  expect(() => featureRankAnalysis([{ weight: -1, features: [[1]], accuracy: 1 }])).toThrow(
    /expected a weight from 0, got -1/,
  );
});
