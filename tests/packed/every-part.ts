/** A new user's program, with what the documentation promises a program can use. It is compiled against the packed package, not run. */

import {
  type Batch,
  type BuildContext,
  byDomain,
  count,
  crossEntropy,
  type Dataset,
  type Draws,
  defineAlgorithm,
  defineOptimizer,
  defineRegularizer,
  defineSchedule,
  evaluate,
  hparam,
  kinds,
  Loader,
  type LoaderOptions,
  lossByDomain,
  type Minibatch,
  nuclearNorm,
  oneOf,
  openDataset,
  openPictures,
  option,
  planRun,
  powerOfTen,
  rowsByDomain,
  SGD,
  type Split,
  type StepContext,
  type StepOutcome,
  splitDataset,
  type Tensor,
  train,
  withPrecision,
} from "nudge-dg";
import { readRecords, readRun } from "nudge-dg/records";
import { makeReport, readResults, toMarkdown } from "nudge-dg/report";
import { selections } from "nudge-dg/selection";
import { resolve } from "nudge-dg/settings";
import { RunFolder } from "nudge-dg/training";

/** An algorithm with options, optimizers of its own, and losses of each domain. */
const worstDomain = defineAlgorithm({
  id: "worst-domain",
  title: "Worst",
  paper: "none",
  needsDomains: true,
  hparams: { temperature: hparam(0.1, powerOfTen(-2, 0)) },
  build({ backbone, classifier, hparams: { temperature, lr, weightDecay } }) {
    const optimizer = new SGD([...backbone.parameters(), ...classifier.parameters()], {
      lr,
      weightDecay,
      momentum: 0.9,
    });
    return {
      modules: { backbone, classifier },
      optimizers: { main: optimizer },
      update(batch: Batch, ctx: StepContext) {
        const features = backbone.forward(batch.x);
        const logits = classifier.forward(features);
        const losses = lossByDomain(logits, batch); // [domains]
        const [first] = rowsByDomain(features, batch);
        const weights = losses.detach().div(temperature).softmax(0);
        const term = ctx.penalty(features, logits);
        const loss = losses.mul(weights).sum();
        optimizer.zeroGrad();
        ctx.checked(term ? loss.add(term) : loss).backward();
        optimizer.step();
        return { loss, first: first.abs().mean() };
      },
      predict: (x: Tensor) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** A penalty that depends on labels and domains. */
const classMeans = defineRegularizer({
  id: "class-means",
  title: "CM",
  paper: "none",
  hparams: { weight: hparam(0.01, powerOfTen(-3, -1)) },
  settings: {
    warmup: count(101, "steps before it starts"),
    kind: oneOf(["square", "absolute"], "square", "the distance"),
  },
  penalty({ features, logits, y, domains, settings }) {
    if (!y || !domains) return features.sum().mul(0);
    const apart = features.sub(features.mean(0)).mul(domains().eq(0).unsqueeze(1).toDType("float32"));
    const error = logits ? crossEntropy(logits, y) : 0;
    return (settings.kind === "square" ? apart.square() : apart.abs()).mean().add(error);
  },
});

const plainSgd = defineOptimizer({
  id: "plain-sgd",
  title: "plain SGD",
  options: { momentum: option(kinds.number({ least: 0, below: 1 }), "the momentum", { default: 0.9 }) },
  make: (groups, { lr, weightDecay, momentum }) => new SGD(groups, { lr, weightDecay, momentum }),
});
const halves = defineSchedule({
  id: "halves",
  title: "halves",
  options: {},
  factor: (step, steps) => (step < steps / 2 ? 1 : 0.5),
});

export async function tryEverything(signal: AbortSignal): Promise<string> {
  const dataset: Dataset = await openDataset("data/PACS");
  const split: Split = splitDataset(dataset.domains, { trialSeed: 0, testDomains: ["sketch"] });
  using pictures = await openPictures(dataset);
  const options: LoaderOptions = {
    dataset,
    pictures,
    split,
    seed: 0,
    batchSize: 32,
    trainDomains: ["photo", "cartoon"],
  };
  using batch = await new Loader(options).batch(0);
  const minibatches: readonly Minibatch[] = byDomain(batch);
  const flat = minibatches[0].x.view([-1]).reshape(1, -1).permute(1, 0).permute([1, 0]);
  const half = withPrecision("bf16", () => flat.matmul(flat.permute(1, 0)));

  using run = await train({
    dataset,
    testDomains: ["sketch"],
    algorithm: worstDomain,
    regularizers: [nuclearNorm({ weight: 0.01 }), classMeans({ kind: "absolute" })],
    averaging: ["swad"],
    backbone: "mobilenet_v2",
    optimizer: plainSgd,
    schedule: halves,
    steps: 100,
    onStep: ({ step, loss }) => console.log(step, loss),
    signal,
  });
  const { overall } = await evaluate(run.model, dataset, { domains: ["sketch"] });
  const plan = await planRun({ dataset: "shapes", testDomains: ["filled"], steps: 10 });
  const { settings } = await resolve({ data: "shapes", testDomains: ["filled"] });
  using folder = await RunFolder.own("runs/one");
  const rows = readRecords("runs/one/records.jsonl");
  const stored = readRun("runs/one");
  const report = makeReport(readResults(["runs"]), { selection: selections.oracle });
  console.log(half.shape, overall.interval, plan.settings.steps, settings.seed, folder.path, rows, stored);
  return toMarkdown(report);
}

export type Pieces = [BuildContext, Draws, StepOutcome];
