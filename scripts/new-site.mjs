#!/usr/bin/env node
/**
 * Measures what a model of frozen features is worth on a new site, each source of a folder withheld in turn: the accuracy
 * next to simple baselines, its confidence, the estimate without labels, the two-sample test, and what 50 labels bring,
 * picked or random. Features are computed once with pretrained MobileNetV2 at 224 pixels, and cached.
 *
 *     node scripts/new-site.mjs --data pictures --out results/new-site-pictures.json [--seeds 20] [--weights FILE] [--cache DIR]
 *     node scripts/new-site.mjs --rows results/new-site-pictures.json --table reach|confidence|estimate|test|labels
 *
 * The baselines are logistic regression on standardized features at C = 1, 0.1, 0.01 and 0.001, k nearest neighbours by
 * cosine at 1, 5, 10 and 20, and the mean of the probabilities of these eight. Everything is chosen without the withheld source.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    out: { type: "string" },
    seeds: { type: "string", default: "20" },
    weights: { type: "string" },
    cache: { type: "string" },
    rows: { type: "string" },
    table: { type: "string", default: "reach" },
  },
});
const STRENGTHS = [1, 0.1, 0.01, 0.001];
const NEIGHBOURS = [1, 5, 10, 20];
const LABELS = 50;
const TESTED = 100;
/** The repetitions of the two-sample test. */
const SPLITS = 200;

const sum = (/** @type {readonly number[]} */ numbers) => numbers.reduce((a, b) => a + b, 0);
const mean = (/** @type {readonly number[]} */ numbers) => sum(numbers) / numbers.length;

/** Measures all sources of a folder. @param {string} data @param {number} seeds */
async function measureAll(data, seeds) {
  const at = (/** @type {string} */ path) => import(new URL(`../dist/${path}`, import.meta.url).href);
  const [{ datasetFor, resolve }, { SettingsMemo }, { openFeatures }, { featuresOf, placesOf, ALL_PARTS }] =
    await Promise.all([
      at("settings/resolve.js"),
      at("settings/memo.js"),
      at("training/samples.js"),
      at("training/exact-probe.js"),
    ]);
  const [
    { chooseStrength, fitProbe },
    { nearCopyGroups },
    { neighboursOf, logitsWithNeighbours },
    { heldOutConfidence },
  ] = await Promise.all([
    at("probe/choose-strength.js"),
    at("probe/near-copies.js"),
    at("probe/neighbours.js"),
    at("own-data/held-out-confidence.js"),
  ]);
  const [{ judge, softmax }, { calibration }, { siteAccuracy, matchedTemperature }, { kolmogorovSmirnov }] =
    await Promise.all([
      at("analysis/judged.js"),
      at("analysis/calibration.js"),
      at("analysis/site-accuracy.js"),
      at("analysis/two-sample.js"),
    ]);
  const [{ fitDistance, distancesTo }, { pickPictures }, { adaptHead, MOST_TRAINING }, { keyedRandom }] =
    await Promise.all([
      at("model/domain-distance.js"),
      at("own-data/pick-pictures.js"),
      at("own-data/adapt-head.js"),
      at("engine/philox.js"),
    ]);
  const [{ scope }, { noGrad, tensor }, { cat }, { evenlyChosen }] = await Promise.all([
    at("engine/scope.js"),
    at("engine/tensor.js"),
    at("engine/ops.generated.js"),
    at("data/evenly-chosen.js"),
  ]);
  const request = {
    data,
    testDomains: [],
    device: "cpu",
    backbone: "mobilenet_v2",
    probe: "exact",
    evaluationSize: 224,
    nearDuplicates: "ignore",
    ...(values.weights && { weights: values.weights }),
    ...(values.cache && { cache: values.cache }),
  };
  const memo = new SettingsMemo();
  const dataset = await datasetFor(request, memo);
  const plan = await resolve(request, memo);
  const samples = await openFeatures(plan, { say: (/** @type {string} */ text) => process.stderr.write(`${text}\n`) });
  const classes = plan.settings.classes.length;
  const domains = dataset.domains.map((/** @type {any} */ { name, files }) => ({
    name,
    ...featuresOf(samples, name, ALL_PARTS, "cpu"),
    files: placesOf(samples.split, name, ALL_PARTS).map((/** @type {number} */ place) => files[place]),
  }));
  const groups = nearCopyGroups(domains.map((/** @type {any} */ { x }) => x));
  const unit = (/** @type {any} */ x) => x.div(x.norm(1, { keepdim: true }).clamp(1e-12));
  const taken = (/** @type {any} */ { x, labels }, /** @type {number[]} */ places) => ({
    x: x.take(places),
    labels: places.map((i) => labels[i]),
  });
  const rowsOf = (/** @type {any} */ p) => p.toArray();
  const best = (/** @type {number[]} */ row) => row.indexOf(Math.max(...row));
  const accuracy = (/** @type {number[][]} */ rows, /** @type {number[]} */ labels) =>
    mean(rows.map((row, i) => Number(best(row) === labels[i])));
  const judged = (/** @type {number[][]} */ rows, /** @type {any} */ domain, temperature = 1) =>
    rows.map((row, i) => ({
      ...judge(row, { name: String(i), domain: domain.name, label: domain.labels[i] }, temperature),
      logits: row,
    }));
  const ece = (/** @type {number[][]} */ rows, /** @type {any} */ domain, /** @type {number} */ t) =>
    calibration(judged(rows, domain, t)).ece;
  /** @param {any[]} training @param {number} c */
  const fitted = (training, c) => {
    const [fit] = fitProbe(training, [c], { classes }, { tolerance: 1e-6 });
    return { fit, neighbours: neighboursOf(training, classes) };
  };

  /** @param {any[]} training @param {any} test */
  const baselines = (training, test) => {
    const fits = fitProbe(training, STRENGTHS, { classes }, { tolerance: 1e-4, dtype: "float32" });
    const linear = fits.map((/** @type {any} */ { weight, bias }) => test.x.matmul(weight.t()).add(bias).softmax(1));
    const labels = training.flatMap((each) => Array.from(each.labels));
    const cosines = unit(test.x).matmul(unit(cat(training.map(({ x }) => x))).t());
    const [, nearest] = cosines.topk(Math.max(...NEIGHBOURS), 1);
    const places = nearest.toArray();
    const votes = NEIGHBOURS.map((k) =>
      tensor(
        places.map((/** @type {number[]} */ row) => {
          const counts = new Array(classes).fill(0);
          for (const place of row.slice(0, k)) counts[labels[Number(place)]] += 1 / k;
          return counts;
        }),
      ),
    );
    const all = [...linear, ...votes];
    const names = [
      ...STRENGTHS.map((c) => `C = ${c}`),
      ...NEIGHBOURS.map((k) => (k === 1 ? "1 neighbour" : `${k} neighbours`)),
    ];
    const total = all.reduce((a, b) => a.add(b));
    return Object.fromEntries([
      ...names.map((name, i) => [name, accuracy(rowsOf(all[i]), test.labels)]),
      ["mean of eight", accuracy(rowsOf(total), test.labels)],
    ]);
  };

  /** The distance statistics of some training pictures, a fifth of which are for comparison. @param {any[]} training @param {any[]} compared */
  const statisticsOf = (training, compared) =>
    fitDistance(
      training.map(({ x, labels }) => {
        const places = evenlyChosen([...Array(x.rows).keys()], Math.ceil(1024 / training.length));
        return { features: x.take(places), labels: places.map((/** @type {number} */ i) => labels[i]) };
      }),
      cat(compared.map(({ x }) => x.take(evenlyChosen([...Array(x.rows).keys()], Math.ceil(512 / compared.length))))),
    );
  const scores = (/** @type {any} */ statistics, /** @type {any} */ x) =>
    distancesTo(statistics, x).map((/** @type {any} */ each) => each.score);

  const rows = [];
  for (const [w, test] of domains.entries()) {
    const begun = performance.now();
    const rest = groups
      .map((/** @type {number[]} */ group) => group.filter((i) => i !== w))
      .filter((/** @type {number[]} */ group) => group.length > 0);
    const folds = rest.map((/** @type {number[]} */ group) => group.map((i) => domains[i]));
    /** @type {any[]} */
    const training = folds.flat();
    const row = noGrad(() =>
      scope(() => {
        const choice = chooseStrength(folds, { classes });
        const model = fitted(training, choice.c);
        const found = logitsWithNeighbours(model.fit, model.neighbours, test.x);
        const held = folds.map((/** @type {any[]} */ fold) =>
          scope(() => {
            const others = folds.filter((/** @type {any[]} */ each) => each !== fold);
            if (others.length === 0)
              return fold.flatMap((domain) => {
                const part = (/** @type {boolean} */ out) =>
                  taken(
                    domain,
                    [...Array(domain.x.rows).keys()].filter((i) => (i % 5 === 0) === out),
                  );
                const { fit, neighbours } = fitted(
                  fold.map((each) =>
                    taken(
                      each,
                      [...Array(each.x.rows).keys()].filter((i) => i % 5 !== 0),
                    ),
                  ),
                  choice.c,
                );
                const own = { ...part(true), name: domain.name };
                return judged(logitsWithNeighbours(fit, neighbours, own.x).both, own);
              });
            const c = chooseStrength(others, { classes }).c;
            const { fit, neighbours } = fitted(others.flat(), c);
            return fold.flatMap((domain) => judged(logitsWithNeighbours(fit, neighbours, domain.x).both, domain));
          }),
        );
        const byDomains = folds.length > 1;
        const confidence = heldOutConfidence(held, byDomains);
        const estimate = siteAccuracy(
          confidence,
          found.both.map((/** @type {number[]} */ each) => Math.max(...softmax(each))),
        );
        const matched = matchedTemperature(found.both, estimate.accuracy);
        const rate = (/** @type {(split: number) => number} */ p) =>
          mean(Array.from({ length: SPLITS }, (_, split) => Number(scope(() => p(split)) < 0.05)));
        const halves = (/** @type {any} */ domain, /** @type {number} */ split) => {
          const order = Array.from(keyedRandom(split, "halves", domain.name).permutation(domain.x.rows));
          const middle = Math.floor(order.length / 2);
          return {
            fit: order.slice(0, Math.floor(0.8 * middle)),
            compare: order.slice(Math.floor(0.8 * middle), middle),
            fresh: order.slice(middle),
          };
        };
        const few = 20; // repetitions with other statistics, each with ten draws of new pictures
        const made = Array.from({ length: few }, (_, split) => {
          const parts = training.map((domain) => ({ domain, ...halves(domain, split) }));
          const statistics = statisticsOf(
            parts.map(({ domain, fit }) => taken(domain, fit)),
            parts.map(({ domain, compare }) => taken(domain, compare)),
          );
          // New pictures come from the sources in the proportions of the compared ones.
          const fresh = parts.map(({ domain, fresh }) => scores(statistics, domain.x.take(evenlyChosen(fresh, 512))));
          const counts = parts.map(({ compare }) => Math.min(compare.length, Math.ceil(512 / parts.length)));
          return {
            shares: counts.map((count) => count / sum(counts)),
            reference: statistics.quantiles.toNumbers(),
            fresh,
            other: scores(statistics, test.x.take(evenlyChosen([...Array(test.x.rows).keys()], 512))),
          };
        });
        const drawn = (/** @type {number[]} */ from, /** @type {number} */ count, /** @type {any[]} */ key) =>
          Array.from(
            keyedRandom(0, ...key)
              .permutation(from.length)
              .slice(0, count),
            (i) => from[i],
          );
        const falseAlarms = rate((split) => {
          const { reference, fresh, shares } = made[split % few];
          return kolmogorovSmirnov(
            fresh.flatMap((/** @type {number[]} */ each, /** @type {number} */ d) =>
              drawn(each, Math.round(TESTED * shares[d]), ["alarm", split, d]),
            ),
            reference,
          ).p;
        });
        const power = rate(
          (split) =>
            kolmogorovSmirnov(drawn(made[split % few].other, TESTED, ["power", split]), made[split % few].reference).p,
        );
        const allTraining = {
          x: cat(training.map(({ x }) => x)),
          labels: training.flatMap(({ labels }) => Array.from(labels)),
        };
        const fewer = taken(allTraining, evenlyChosen([...Array(allTraining.x.rows).keys()], MOST_TRAINING));
        const labelled = Array.from({ length: seeds }, (_, seed) =>
          scope(() => {
            const order = Array.from(keyedRandom(seed, "pool", test.name).permutation(test.x.rows));
            const middle = Math.floor(order.length / 2);
            const [pool, tested] = [order.slice(0, middle), order.slice(middle)];
            const asked = taken(test, tested);
            const before = tested.map((i) => found.both[i]);
            const after = (/** @type {number[]} */ places) =>
              scope(() => {
                const fresh = taken(test, places);
                const old = places.map((i) => found.both[i]);
                const { head } = adaptHead(fewer, fresh, { classes, c: choice.c, neighbours: true, old });
                return head === null
                  ? accuracy(before, asked.labels)
                  : accuracy(logitsWithNeighbours(head.fit, head.neighbours, asked.x).both, asked.labels);
              });
            const picked = pickPictures(
              test.x.take(pool),
              pool.map((i) => found.both[i]),
              LABELS,
              { seed },
            ).map((/** @type {any} */ { place }) => pool[place]);
            return {
              before: accuracy(before, asked.labels),
              random: after(pool.slice(0, LABELS)),
              picked: after(picked),
            };
          }),
        );
        return {
          withheld: test.name,
          pictures: test.x.rows,
          c: choice.c,
          folds: folds.map((/** @type {any[]} */ fold) => fold.map(({ name }) => name)),
          accuracy: accuracy(found.both, test.labels),
          probe: accuracy(found.probe, test.labels),
          neighbours: accuracy(found.neighbours, test.labels),
          baselines: baselines(training, test),
          heldOut: mean(
            held.map((/** @type {any[]} */ fold) =>
              mean(fold.map(({ label, predicted }) => Number(label === predicted))),
            ),
          ),
          calibration: {
            one: ece(found.both, test, 1),
            fitted: ece(found.both, test, confidence.fitted),
            chosen: ece(found.both, test, confidence.temperature),
            matched: ece(found.both, test, matched),
          },
          temperature: { fitted: confidence.fitted, chosen: confidence.temperature, matched },
          estimate,
          errors: confidence.errors,
          test: { falseAlarms, power },
          labelled,
        };
      }),
    );
    rows.push(row);
    process.stderr.write(
      `${test.name}: ${(100 * row.accuracy).toFixed(1)} %, ${Math.round((performance.now() - begun) / 1000)} s\n`,
    );
    if (values.out) writeFileSync(values.out, `${JSON.stringify(rounded(rows), null, 1)}\n`);
  }
  return rows;
}

/** Numbers with six digits. @param {any} value @returns {any} */
function rounded(value) {
  if (typeof value === "number") return Number(value.toPrecision(6));
  if (Array.isArray(value)) return value.map(rounded);
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]))
    : value;
}

const percent = (/** @type {number} */ share) => (100 * share).toFixed(1);
const print = (/** @type {string[]} */ cells) => process.stdout.write(`| ${cells.join(" | ")} |\n`);

/** @typedef {Record<string, (row: any) => number>} Columns */
/** @type {Record<string, Columns>} */
const TABLES = {
  reach: {
    "probe and neighbours": (row) => row.accuracy,
    "exact probe": (row) => row.probe,
    ...Object.fromEntries(
      [
        ...STRENGTHS.map((c) => `C = ${c}`),
        "1 neighbour",
        ...NEIGHBOURS.slice(1).map((k) => `${k} neighbours`),
        "mean of eight",
      ].map((name) => [name, (/** @type {any} */ row) => row.baselines[name]]),
    ),
  },
  confidence: {
    "T = 1": (row) => row.calibration.one,
    "T of held-out domains": (row) => row.calibration.fitted,
    "chosen, nested": (row) => row.calibration.chosen,
    "matched to the estimate": (row) => row.calibration.matched,
  },
  estimate: {
    accuracy: (row) => row.accuracy,
    estimate: (row) => row.estimate.accuracy,
    "interval from": (row) => row.estimate.interval[0],
    "interval to": (row) => row.estimate.interval[1],
    "error of the estimate": (row) => Math.abs(row.estimate.accuracy - row.accuracy),
    "error of the mean of held-out accuracies": (row) => Math.abs(row.heldOut - row.accuracy),
    "error of thresholded confidence alone": (row) => Math.abs(row.estimate.thresholded - row.accuracy),
    "error of mean confidence alone": (row) => Math.abs(row.estimate.confidence - row.accuracy),
  },
  test: { "false alarms": (row) => row.test.falseAlarms, power: (row) => row.test.power },
  labels: {
    before: (row) => mean(row.labelled.map((/** @type {any} */ each) => each.before)),
    "50 random": (row) => mean(row.labelled.map((/** @type {any} */ each) => each.random)),
    "50 picked": (row) => mean(row.labelled.map((/** @type {any} */ each) => each.picked)),
    "seeds at most 1 point below": (row) =>
      mean(row.labelled.map((/** @type {any} */ each) => Number(each.picked >= each.before - 0.01))),
  },
};

/** @param {any[]} rows @param {Columns} columns */
function printTable(rows, columns) {
  print(["withheld", "pictures", ...Object.keys(columns)]);
  process.stdout.write(`|${["", "", ...Object.keys(columns)].map(() => " --- |").join("")}\n`);
  for (const row of rows)
    print([row.withheld, String(row.pictures), ...Object.values(columns).map((of) => percent(of(row)))]);
  print(["mean", "", ...Object.values(columns).map((of) => percent(mean(rows.map(of))))]);
}

const table = TABLES[values.table];
if (!table || (values.data === undefined) === (values.rows === undefined)) {
  process.stderr.write(`new-site: expected --data DIR or --rows FILE, and --table ${Object.keys(TABLES).join("|")}\n`);
  process.exit(2);
}
const rows =
  values.rows === undefined
    ? await measureAll(/** @type {string} */ (values.data), Number(values.seeds))
    : JSON.parse(readFileSync(values.rows, "utf8"));
if (values.rows !== undefined) printTable(rows, table);
else for (const each of Object.values(TABLES)) printTable(rows, each);
