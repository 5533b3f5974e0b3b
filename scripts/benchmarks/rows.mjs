/** The table of a machine in docs/benchmarks.md: for each task the figure of the peer, ours, and the target. */

/**
 * @typedef {object} Row
 * @property {string} work
 * @property {string} peer
 * @property {string} theirs
 * @property {string} ours
 * @property {number} [ratio] the speed relative to the peer
 * @property {string} [target]
 * @property {boolean} [reached]
 */

/**
 * @typedef {object} Kept a benchmark in a record
 * @property {string} command
 * @property {number} busy the share of the cores that other work took just before
 * @property {number} seconds
 * @property {any} result the output of the command
 */

/** @type {Record<string, string>} */
const TITLES = { resnet50: "ResNet-50", mobilenet_v2: "MobileNetV2" };

/** The targets on a GPU in milliseconds: for a step on pictures in its memory, and for one from files. */
const GPU_STEP = /** @type {Record<string, number>} */ ({ resnet50: 12, mobilenet_v2: 6.3 });
const GPU_TRAIN = /** @type {Record<string, number>} */ ({ resnet50: 25, mobilenet_v2: 15 });
/** The targets on the CPU: the speedup over PyTorch with folded batch norm. */
const CPU_FOLDED = /** @type {Record<string, number>} */ ({ resnet50: 1.2, mobilenet_v2: 1.4 });
/** The target of evaluating all of PACS with ResNet-50 on a GPU, in seconds. */
const GPU_EVALUATION = 0.45;
/** The target of a run of 2,001 steps of PACS in a sweep on a GPU, in seconds: 48 runs in 18 minutes. */
const GPU_SWEEP_RUN = 22.5;
/** Below this fraction of a step, the wait for data is negligible. */
const NO_WAITING = 0.05;

const ms = (/** @type {number} */ value) =>
  value < 100 ? `${value.toFixed(value < 10 ? 2 : 1)} ms` : `${Math.round(value).toLocaleString("en")} ms`;
const rate = (/** @type {number} */ value) => `${Math.round(value).toLocaleString("en")} a second`;
const seconds = (/** @type {number} */ value) => `${value.toFixed(value < 1 ? 2 : 1)} s`;

/** @param {number} value @param {number} most */
const atMost = (value, most) => ({ target: `≤ ${most} ms`, reached: value <= most });
/** @param {number | undefined} ratio @param {number} least */
const atLeast = (ratio, least) =>
  ratio === undefined ? {} : { target: `≥ ${least.toFixed(1)}×`, reached: ratio >= least };

/** The order of the table, which differs from the order of the record. */
const ORDER = ["ops", "nuclear-norm", "step-", "loader", "train-", "sweep", "data"];
const place = (/** @type {string} */ name) => ORDER.findIndex((start) => name.startsWith(start));

/**
 * The rows of the benchmarks in a record.
 * @param {Record<string, Kept>} benchmarks
 * @returns {Row[]}
 */
export function rowsOf(benchmarks) {
  const ordered = Object.entries(benchmarks).sort(([a], [b]) => place(a) - place(b));
  return ordered.flatMap(([name, { result }]) => {
    const gpu = (result.device ?? "cpu") !== "cpu";
    if (name === "ops") return ops(result, gpu);
    if (name === "nuclear-norm") return nuclearNorm(result, gpu);
    if (name === "loader") return loader(result);
    if (name === "sweep") return sweep(result);
    if (name === "sweep-parallel") return parallelSweep(result);
    if (name === "data") return largeData(result, gpu);
    if (name.startsWith("step-")) return gpu ? gpuStep(result) : cpuStep(result);
    if (name.startsWith("train-")) return train(result, gpu);
    return []; // the costs of algorithms have their own table
  });
}

/** @param {any} result @param {boolean} gpu @returns {Row[]} */
function ops({ ours, peer }, gpu) {
  const ns = (/** @type {number} */ value) => `${Math.round(value).toLocaleString("en")} ns`;
  const row = { work: "one operator call, a 4×4 add", ours: ns(ours) };
  if (!peer) return [{ ...row, peer: "—", theirs: "—" }];
  const target = gpu ? {} : atLeast(peer.ratio, 1);
  return [{ ...row, peer: "PyTorch from Python", theirs: ns(peer.ns), ratio: peer.ratio, ...target }];
}

/** @param {any} result @returns {Row[]} */
function cpuStep({ backbone, batch, ours, peer }) {
  const work = `${TITLES[backbone]} step, batch ${batch}`;
  return ours.map((/** @type {any} */ way) => ({
    work: `${work}, ${way.title}${way.command ? `, as ${way.command} runs it` : ""}`,
    ...(peer.length > 0 ? { peer: "PyTorch eager", theirs: ms(peer[0].ms) } : { peer: "—", theirs: "—" }),
    ours: ms(way.ms),
    ratio: way.ratio,
    ...atLeast(way.ratio, way === ours[0] ? 1 : CPU_FOLDED[backbone]), // the first has unfolded batch norm
  }));
}

/** @param {any} result @returns {Row[]} */
function gpuStep({ backbone, batch, ours, peer }) {
  const best = ours.at(-1); // bfloat16, channels last, folded, captured: as in training
  const row = { work: `${TITLES[backbone]} step, batch ${batch}, bf16, pictures on the device`, ours: ms(best.ms) };
  const target = atMost(best.ms, GPU_STEP[backbone]);
  if (peer.length === 0) return [{ ...row, peer: "—", theirs: "—", ...target }];
  return peer.map((/** @type {any} */ way) => ({
    ...row,
    peer: way.title,
    theirs: ms(way.ms),
    ratio: way.ms / best.ms,
    ...target,
  }));
}

/** @param {any} result @param {boolean} gpu @returns {Row[]} */
function nuclearNorm({ shapes }, gpu) {
  const timed = shapes.map((/** @type {any} */ shape) => {
    const way = shape.captured ?? shape.routes.find((/** @type {any} */ route) => route.automatic);
    const theirs = shape.peerMs ?? shape.svdMs;
    return { ...shape, theirs, ours: way.ms, ratio: theirs / way.ms };
  });
  const real = timed.find((/** @type {any} */ { rows, width }) => rows === 96 && width === 2048);
  const worst = timed.reduce((/** @type {any} */ a, /** @type {any} */ b) => (b.ratio < a.ratio ? b : a));
  const row = (/** @type {any} */ shape, /** @type {string} */ words) => ({
    work: `nuclear norm, value and gradient, ${shape.rows} × ${shape.width}${words}`,
    peer: "torch.svd",
    theirs: ms(shape.theirs),
    ours: ms(shape.ours),
    ratio: shape.ratio,
  });
  const inGraph = gpu ? ", inside the captured step" : "";
  const target = gpu
    ? atMost(real.ours, 0.4)
    : { target: "≤ 3 ms and ≥ 4.0×", reached: real.ours <= 3 && real.ratio >= 4 };
  return [
    { ...row(real, inGraph), ...target },
    { ...row(worst, `, the least favourable of ${shapes.length} shapes`), ...atLeast(worst.ratio, 1) },
  ];
}

/** @param {any} result @returns {Row[]} */
function loader({ dataset, batch, cold, cached, peer }) {
  const work = `${dataset} from files to augmented batches of ${batch}`;
  const beside = peer
    ? { peer: `DataLoader, ${peer.workers} workers`, theirs: rate(peer.rate) }
    : { peer: "—", theirs: "—" };
  return [
    { work: `${work}, decoded once`, ...beside, ours: rate(cached), ratio: peer?.cachedRatio },
    { work: `${work}, decoded every time`, ...beside, ours: rate(cold), ratio: peer?.coldRatio },
  ];
}

/** The overhead of a run of a sweep besides its updates and evaluations. The first run includes the cost of what the others share.
 * @param {any} result @returns {Row[]} */
function sweep({ dataset, backbone, steps, runs, lost }) {
  const work = `a sweep on ${dataset}, ${TITLES[backbone]}, ${runs.length} runs of ${steps} steps: a run beside its updates and evaluations`;
  const first = { peer: "the first run", theirs: seconds(lost.first) };
  return [{ work, ...first, ours: seconds(lost.others), ratio: lost.first / lost.others }];
}

/** The time of a sweep by several processes, divided by the number of its runs. @param {any} result @returns {Row[]} */
function parallelSweep({ dataset, backbone, steps, evaluateEvery, workers, runs, seconds: all }) {
  const evaluations = 1 + Math.floor((steps - 1) / evaluateEvery);
  const work = `a sweep on ${dataset}, ${TITLES[backbone]}, ${runs} runs of ${steps} steps and ${evaluations} evaluations, ${workers} processes: time divided by runs`;
  const mean = all / runs;
  const target = dataset === "PACS" ? { target: `≤ ${GPU_SWEEP_RUN} s`, reached: mean <= GPU_SWEEP_RUN } : {};
  return [{ work, peer: "—", theirs: "—", ours: seconds(mean), ...target }];
}

/** Steps that decode every picture. The target on a GPU is 1.15 times a step on pictures in memory.
 * @param {any} result @param {boolean} gpu @returns {Row[]} */
function largeData({ backbone, batch, inMemory, decoded, ratio }, gpu) {
  const work = `${TITLES[backbone]} step of ${batch}, every picture decoded from its JPEG`;
  const target = gpu ? { target: "≤ 1.15× the peer", reached: ratio <= 1.15 } : {};
  return [
    {
      work,
      peer: "pictures in memory",
      theirs: ms(inMemory.stepMs),
      ours: ms(decoded.stepMs),
      ratio: 1 / ratio,
      ...target,
    },
  ];
}

/** @param {any} result @param {boolean} gpu @returns {Row[]} */
function train({ dataset, pictures, method, backbone, precision, batch, ours, peer }, gpu) {
  const what = `${TITLES[backbone]} by ${method} on ${dataset}`;
  const step = peer
    ? { peer: "DomainBed's loop", theirs: ms(peer.stepMs), ratio: peer.stepRatio }
    : { peer: "—", theirs: "—" };
  const evaluation = peer
    ? { peer: "DomainBed's loop", theirs: seconds(peer.evaluationSeconds), ratio: peer.evaluationRatio }
    : { peer: "—", theirs: "—" };
  const words = precision === "float32" ? "" : `, ${precision}`;
  return [
    {
      ...{ work: `${what}, a step of ${batch} from files on${words}`, ...step, ours: ms(ours.stepMs) },
      ...(gpu ? atMost(ours.stepMs, GPU_TRAIN[backbone]) : {}),
    },
    ...forData(ours, gpu),
    {
      work: `${what}, evaluating ${pictures.toLocaleString("en")} pictures${words}`,
      ...{ ...evaluation, ours: seconds(ours.evaluationSeconds) },
      ...(gpu && backbone === "resnet50" && dataset === "PACS"
        ? { target: `≤ ${GPU_EVALUATION} s`, reached: ours.evaluationSeconds <= GPU_EVALUATION }
        : {}),
    },
  ];
}

/**
 * The cost of data loading per step. On a CPU it is the time until a batch is ready. A GPU computes while the host prepares the next batch,
 * so there it is the difference between a step and an update on a batch that is ready: augmentation, which also runs on the GPU, and
 * waiting.
 * @param {any} ours @param {boolean} gpu @returns {Row[]}
 */
function forData({ stepMs, waitMs, updateMs, share }, gpu) {
  const work = gpu ? "of that step, augmenting on the GPU and waiting for data" : "of that step, waiting for data";
  const row = (/** @type {number} */ lost, /** @type {number} */ part) => ({
    ...{ work, peer: "—", theirs: "—" },
    ours: `${ms(lost)} (${(100 * part).toFixed(1)} %)`,
  });
  if (!gpu) return [row(waitMs, share)];
  const lost = Math.max(0, stepMs - updateMs);
  const part = lost / stepMs;
  return [{ ...row(lost, part), target: `< ${100 * NO_WAITING} %`, reached: part < NO_WAITING }];
}

/** Rows as a Markdown table. @param {readonly Row[]} rows */
export function tableOf(rows) {
  const cells = rows.map(({ work, peer, theirs, ours, ratio, target, reached }) => [
    work,
    peer,
    theirs,
    ours,
    ratio === undefined ? "—" : `${ratio.toFixed(2)}×`,
    target ?? "—",
    reached === undefined ? "—" : reached ? "yes" : "**no**",
  ]);
  const lines = [
    ["work", "peer", "peer's", "ours", "times as fast", "to reach", "reached"],
    ["---", "---", "---:", "---:", "---:", "---:", "---"],
    ...cells,
  ];
  return markdown(lines);
}

/** A Markdown table. Its second line is the rule. @param {readonly (readonly string[])[]} lines */
export const markdown = (lines) => lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
