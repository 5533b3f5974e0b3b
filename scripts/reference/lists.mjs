/** A page for each kind of `nudge list`, from its JSON output. */
import { readdirSync, readFileSync } from "node:fs";
import { code, linked, page, short, table } from "./markdown.mjs";

/**
 * @typedef {{ name: string, default: unknown, range?: string, accepts?: string, reference?: string, meaning?: string }} Knob
 * @typedef {Record<string, any> & { id: string, title: string, about?: string, paper?: string, hparams?: Knob[] }} Entry
 */

const RECORDS = new URL("../../results/benchmarks/", import.meta.url);

/**
 * Step times that `nudge bench backbones --json` has written to `results/benchmarks/backbones-DEVICE.json`.
 * @typedef {{ backbone: string, ms: number, peerMs?: number }} TimedBackbone
 * @type {{ device: string, batch: number, rows: TimedBackbone[] }[]}
 */
const timed = readdirSync(RECORDS)
  .filter((name) => /^backbones-.+\.json$/.test(name))
  .sort()
  .map((name) => ({
    ...JSON.parse(readFileSync(new URL(name, RECORDS), "utf8")),
    device: name.slice("backbones-".length, -".json".length),
  }));

/** @param {TimedBackbone | undefined} row */
const stepTime = (row) =>
  row === undefined ? "" : `${row.ms.toFixed(1)}${row.peerMs === undefined ? "" : ` (${row.peerMs.toFixed(1)})`}`;

/** The introduction of each page, and the facts of an entry that are listed with its paper. */
const pages = {
  algorithms: {
    heading: "Algorithms",
    intro:
      "Use these ids or titles with `--algorithm`, in upper or lower case. Names of methods in papers also work: `ERM-NU` adds the nuclear norm, and `SWAD-CORAL` averages the weights of CORAL. [algorithms.md](../algorithms.md) describes what each algorithm computes, and [settings.md](settings.md#shared-hyperparameters) has the hyperparameters that all of them share. If a default depends on the size of the pictures, the default for large pictures is shown.",
  },
  regularizers: {
    heading: "Regularizers",
    intro:
      "Use these ids with `--regularizer`. A regularizer is a penalty on the features of a batch that is added to the loss of any algorithm. Its settings have its id as a prefix, such as `nuclear-norm.weight=0.03`. See also [method.md](../method.md).",
  },
  averaging: {
    heading: "Averages of the weights",
    intro:
      "Use these ids with `--averaging`, or the titles in the name of a method (`SWAD-NU`). An average follows a run and does not change it, so one run has records of the trained model and of every average.",
  },
  optimizers: {
    heading: "Optimizers",
    intro:
      "Use these ids with `optimizer=`; the default is Adam. Learning rate and weight decay are the shared hyperparameters `lr` and `weightDecay`. See also [optimization.md](../optimization.md).",
  },
  schedules: {
    heading: "Schedules",
    intro:
      "Use these ids with `schedule=` to change the learning rate during a run. Each works with `warmupSteps`. See also [optimization.md](../optimization.md).",
  },
  datasets: {
    heading: "Datasets",
    intro:
      "Use these ids with `--data`. Options have the prefix `data`, such as `data.size=32`. [data.md](../data.md) describes where to get the datasets and how they are checked.",
  },
  backbones: {
    heading: "Backbones",
    intro:
      "Use these ids with `--backbone`. A backbone is the network that computes features from a picture. Starting weights come from `--weights`, `$NUDGE_WEIGHTS` or the cache. The number of parameters is without a classifier, for pictures with three channels. Settings that [depend on depth](../optimization.md#train-a-part-of-the-backbone) count blocks. `nudge weights list` describes the published weights, and `--weights NAME` starts from them. `nudge bench backbones` measures their training steps on your machine.",
    /** @type {[string, (entry: Entry) => string][]} */
    columns: [
      ["features", ({ width }) => width?.toLocaleString("en") ?? ""],
      ["parameters", ({ parameters }) => parameters?.toLocaleString("en") ?? ""],
      ["blocks", ({ blocks }) => String(blocks ?? "")],
      ...timed.map(
        ({ device, batch, rows }) =>
          /** @type {[string, (entry: Entry) => string]} */ ([
            `step on ${device}, batch ${batch}, ms (PyTorch)`,
            ({ id }) => stepTime(rows.find(({ backbone }) => backbone === id)),
          ]),
      ),
      ["published weights", ({ weightNames }) => weightNames.map(code).join(", ")],
    ],
  },
  selections: {
    heading: "Selection methods",
    intro:
      "Use these ids with `nudge report --selection`. A selection method chooses the step and the draw of hyperparameters that a table shows. It reads records, so one sweep gives all three tables.",
  },
};

/** @param {(path: string) => Promise<any>} load @returns {Promise<Record<string, string>>} */
export async function listPages(load) {
  const { listCommand } = await load("cli/list");
  /** @type {Record<string, string>} */
  const made = {};
  for (const [kind, { heading, intro, ...more }] of Object.entries(pages)) {
    /** @type {string[]} */
    const printed = [];
    const command = listCommand((/** @type {string} */ part) => printed.push(part));
    await command.parseAsync([kind, "--json"], { from: "user" });
    /** @type {Entry[]} */
    const entries = JSON.parse(printed.join(""));
    made[`${kind}.md`] = page(
      heading,
      intro,
      overview(entries, "columns" in more ? more.columns : ABOUT),
      ...entries.map(section),
    );
  }
  return made;
}

/** @type {[string, (entry: Entry) => string][]} */
const ABOUT = [["description", ({ about = "" }) => about]];

/** A table with the name and title of every entry, and the columns that are not empty. @param {Entry[]} entries @param {typeof ABOUT} columns */
function overview(entries, columns) {
  const shown = columns.filter(([, cell]) => entries.some((entry) => cell(entry) !== ""));
  return table(
    ["id", "title", ...shown.map(([head]) => head)],
    entries.map((entry) => [`[${code(entry.id)}](#${entry.id})`, entry.title, ...shown.map(([, cell]) => cell(entry))]),
  );
}

/** @param {Entry} entry */
function section(entry) {
  const { id, title, about, hparams = [], hparamsOnSmallPictures = [] } = entry;
  const facts = factsOf(entry).map(([name, text]) => `- ${name}: ${text}`);
  const small = /** @type {Knob[]} */ (hparamsOnSmallPictures).filter(
    (knob) => !hparams.some((each) => JSON.stringify(each) === JSON.stringify(knob)),
  );
  const parts = [
    `## ${id}`,
    `**${title}**${about ? `: ${about}` : ""}.`,
    facts.join("\n"),
    knobTable(hparams),
    ...(small.length > 0 ? ["On small pictures (28 × 28):", knobTable(small)] : []),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** @param {Knob[]} knobs */
function knobTable(knobs) {
  /** @type {[string, (knob: Knob) => string][]} */
  const columns = [
    ["setting", ({ name }) => code(name)],
    ["default", (knob) => code(short(knob.default))],
    ["drawn from, or one of", ({ range, accepts }) => range ?? accepts ?? ""],
    ["the reference's name", ({ reference }) => code(reference)],
    ["meaning", ({ meaning }) => meaning ?? ""],
  ];
  const shown = columns.filter(([, cell]) => knobs.some((knob) => cell(knob) !== ""));
  return table(
    shown.map(([head]) => head),
    knobs.map((knob) => shown.map(([, cell]) => cell(knob))),
  );
}

/** Other facts about an entry, by name. @param {Entry} entry @returns {[string, string][]} */
function factsOf({ paper, licence, source, layout, protocol, published, forDataset }) {
  /** @type {[string, string][]} */
  const facts = [];
  if (paper) facts.push(["paper", linked(paper)]);
  if (published) {
    /** @type {{ name: string, count?: number }[]} */
    const domains = published.domains;
    const counted = domains.filter(({ count }) => count !== undefined);
    const counts = counted.map(({ name, count }) => `${name} ${count?.toLocaleString("en")}`);
    if (counts.length > 0) facts.push(["published counts", counts.join(", ")]);
  }
  if (layout) facts.push(["layout", code(layout)]);
  if (source) facts.push(["where from", linked(source)]);
  if (licence) facts.push(["licence", linked(licence)]);
  if (protocol) facts.push(["default protocol", `${protocol.steps} steps, evaluated every ${protocol.evaluateEvery}`]);
  for (const [dataset, values] of Object.entries(forDataset ?? {})) {
    const given = Object.entries(/** @type {object} */ (values)).map(([name, value]) => code(`${name}=${value}`));
    facts.push([`on ${dataset}`, given.join(", ")]);
  }
  return facts;
}
