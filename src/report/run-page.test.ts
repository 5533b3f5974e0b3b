import { expect, test } from "vitest";
import { assessmentOf, heldOutTogether } from "../analysis/assessment.js";
import { type Judged, judge } from "../analysis/judged.js";
import type { Recipe } from "../own-data/recipe.js";
import { recipeText } from "./recipe-text.js";
import { type RunPage, runPage } from "./run-page.js";
import { runSummary } from "./run-summary.js";

const classes = ["cat", "<dog>"];
const picture = (domain: string, i: number, label: number, logit: number): Judged =>
  judge([0, logit], { name: `${domain}/${i}.png`, domain, label });
const pictures = [
  picture("shop", 0, 0, -2),
  picture("shop", 1, 0, 3),
  picture("street", 0, 1, 4),
  picture("street", 1, 1, 2),
];
const assess = (...heldOut: string[]) => assessmentOf(pictures, { model: "current", step: 7, classes, heldOut });

const page = (parts: Partial<RunPage>): string =>
  runPage({
    title: "mine: ERM-NU",
    subtitle: "2 classes",
    assessment: assess(),
    estimate: null,
    thumbnails: new Map(),
    figures: [],
    facts: [["method", "ERM-NU"]],
    commands: [["Classify pictures", "nudge predict 'a b' <x>"]],
    notes: [],
    ...parts,
  });

test("a page of a run without a held-out domain says that nothing is known of new ones", () => {
  const html = page({});
  expect(html).toContain("<b>unknown</b>");
  expect(html).toContain("The accuracy on new domains is unknown");
  expect(runSummary(assess(), null)).toContain("Accuracy on new domains: unknown, because no domain was held out");
});

test("a page of a run with a held-out domain shows its accuracy, its mistakes and its counts", () => {
  const html = page({ assessment: assess("shop"), thumbnails: new Map([["shop/1.png", "data:image/webp;base64,AA"]]) });
  expect(html).toContain('<th scope="row">shop</th><td>held-out domain</td><td>2</td><td>50.0 %</td>');
  expect(html).toContain('<img src="data:image/webp;base64,AA" alt="shop/1.png">');
  expect(html).toContain("<b>cat</b>, predicted <em>&lt;dog&gt;</em>");
  expect(html).not.toContain("<dog>");
  expect(html).toContain("nudge predict &#39;a b&#39; &lt;x&gt;");
});

test("an estimate stands in for held-out domains, and says that the model itself was trained on them", () => {
  const estimate = heldOutTogether([assess("shop"), assess("street")]);
  const html = page({ estimate });
  expect(html).toContain("<b>50.0 %</b><span>on shop, the lowest of 2 held-out domains. Plan with this value");
  expect(html).toContain(
    "<b>75.0 %</b><span>mean of the 2 held-out domains, with equal weights, from 50.0 % to 100.0 %",
  );
  expect(html).toContain("on validation pictures of the training domains");
  expect(html).toContain("the final model was trained on all domains");
  const text = runSummary(assess(), estimate);
  expect(text).toBe(`Accuracy on held-out domains (95 % interval)
  shop     50.0 %  (9.5 % to 90.5 %, 2 pictures)
  street  100.0 %  (34.2 % to 100.0 %, 2 pictures)
  mean     75.0 %
Plan with 50.0 %, the lowest of the 2 held-out domains (shop): a new domain can be as difficult. The lowest value falls as domains are added.
Guessing among 2 classes gives 50.0 %. On shop, street the model may be no better than guessing, because the interval includes it: do not use it there.
The Wilson intervals cover the uncertainty from the number of pictures. They do not cover differences between domains, or the variation over seeds and splits: this is one trial.

Accuracy on validation pictures of the training domains (95 % interval)
  shop     50.0 %  (9.5 % to 90.5 %, 2 pictures)
  street  100.0 %  (34.2 % to 100.0 %, 2 pictures)
  mean     75.0 %

Confusion matrix on held-out domains (rows: true class; columns: predicted class)
         cat  <dog>
  cat      1      1
  <dog>    0      2

Worst mistakes on held-out domains, by the probability of the true class
  shop/1.png: cat (4.7 %), predicted <dog> (95.3 %)
`);
});

test("recall and precision of each class stand above the commands, and charts for researchers below them", () => {
  const html = page({ assessment: assess("shop", "street"), figures: ["<svg></svg>"], notes: ["a note"] });
  expect(html).toContain('<th scope="row">cat</th><td>2</td><td>50.0 %</td><td>9.5 % to 90.5 %</td><td>100.0 %</td><td>1</td>'); // biome-ignore format: as it is
  const headings = Array.from(html.matchAll(/<h2>([^<]+)/g), ([, text]) => text);
  expect(headings).toEqual(["Accuracy by domain", "Accuracy by class", "Confusion matrix", "Worst mistakes", "Next steps", "Notes", "Confidence and accuracy", "Training", "How it was trained"]); // biome-ignore format: a list
});

test("the page has no scripts and cannot send requests", () => {
  const html = page({ estimate: null });
  expect(html).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
  expect(html).toContain("default-src 'none'");
});

test("the page says how the recipe was chosen: every candidate on every held-out domain, and why", () => {
  const domains = (accuracy: number) => [{ name: "shop", accuracy, count: 40 }];
  const recipe: Recipe = {
    ...{ format: 1, by: "held-out domains", folds: [["shop"]], nearCopies: [["shop", "mall"]], c: 0.01, strengths: [] },
    candidates: [
      { name: "exact probe", coefficient: 0, domains: domains(0.8), mean: 0.8, below: 0.1, error: 0.02, chosen: false },
      { name: "fine-tuned", coefficient: 1, domains: domains(0.9), mean: 0.9, below: 0, error: 0, chosen: true },
    ],
    ...{ coefficient: 1, reason: "fine-tuned: the best.", nested: [], steps: 5, seconds: {} },
  };
  const html = page({ recipe });
  for (const words of [
    "exact probe",
    "fine-tuned (chosen)",
    "80.0",
    "10.0 ± 2.0",
    "shop and mall have nearly identical pictures",
    "fine-tuned: the best.",
  ])
    expect(html).toContain(words);
  expect(recipeText(recipe)).toContain("  fine-tuned (chosen)  90.0  90.0");
});
