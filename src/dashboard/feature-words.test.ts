import { expect, test } from "vitest";
import { featureWords } from "./feature-words.js";

test("dashed lines are mentioned only where lines of held-out domains are drawn", () => {
  const [training, held] = [{ dash: false }, { dash: true }];
  expect(
    featureWords([
      { ...training, points: [1, 2] },
      { ...held, points: [1, 2] },
    ]),
  ).toContain("of all training domains together, and of each held-out domain (dashed). ");
  const numbers = featureWords([
    { ...training, points: [1] },
    { ...held, points: [1] },
  ]);
  expect(numbers).toContain("and of each held-out domain. ");
  expect(numbers).not.toContain("dashed");
  expect(featureWords([{ ...training, points: [1, 2] }])).not.toContain("held-out");
});
