/**
 * `nudge list <kind>`: lists everything that can be named on the command line, read from the same registries as
 * training: titles, papers, hyperparameters with their search ranges and their names in DomainBed, settings and
 * variants. Never loads the engine.
 */

import { Command } from "commander";
import { type HparamOverrides, sharedHparams } from "../algorithms/shared-hparams.js";
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { Hparam } from "../hparams.js";
import type { OptionWithDefault } from "../options.js";

/** One hyperparameter, setting or option of an entry. */
interface Knob {
  readonly name: string;
  readonly default: string | number | boolean;
  /** The distribution that a random search draws from; absent if it is not searched. */
  readonly range?: string;
  /** Its name in DomainBed. */
  readonly reference?: string;
  /** The allowed values, if that is a short list of words. */
  readonly accepts?: string;
  readonly meaning?: string;
}

interface Entry {
  readonly id: string;
  readonly title: string;
  /** One line on what it is or what it requires. */
  readonly about?: string;
  readonly paper?: string;
  readonly knobs?: readonly Knob[];
  /** Other facts by name, for --json. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

interface Kind {
  entries(): Promise<readonly Entry[]>;
  /** A line below the list. */
  readonly note?: string;
}

/** The kinds that can be listed. */
const kinds: Readonly<Record<string, Kind>> = {
  algorithms: {
    entries: listAlgorithms,
    note:
      "Each one can be combined with a regularizer (ERM-NU, Mixup-NU) and with weight averaging (SWAD, SWAD-NU,\n" +
      "SWAD-CORAL, SWAD-MIRO). All of them share these hyperparameters: lr, weightDecay, batchSize, dropout, …",
  },
  datasets: { entries: listDatasets },
  backbones: { entries: listBackbones },
  regularizers: { entries: listRegularizers },
  averaging: { entries: listAveraging },
  optimizers: { entries: () => listOptimization("optimizers") },
  schedules: { entries: () => listOptimization("schedules") },
  selections: { entries: listSelections },
};

/** The command. `write` receives its output. */
export function listCommand(write: (text: string) => void = (text) => void process.stdout.write(text)): Command {
  const names = Object.keys(kinds);
  return new Command("list")
    .description(
      "Lists the available algorithms, datasets and so on, with titles, papers, and hyperparameters with their default, search range and name in DomainBed.",
    )
    .argument("<kind>", names.join(", "))
    .option("--json", "print everything as JSON", false)
    .addHelpText(
      "after",
      `
Examples:
  nudge list algorithms
  nudge list backbones --json
  nudge list algorithms --plugin ./mine.mjs     includes those of your own file`,
    )
    .action(async (name: string, { json }: { json: boolean }) => {
      if (!Object.hasOwn(kinds, name)) throw new UsageError(unknownName("list", name, names));
      const { entries, note } = kinds[name];
      const listed = await entries();
      write(json ? `${JSON.stringify(listed.map(flat), null, 2)}\n` : `${listText(listed, note)}\n`);
    });
}

async function listAlgorithms(): Promise<Entry[]> {
  const { algorithms } = await import("../algorithms/index.js");
  return Object.values(algorithms).map(
    ({
      id,
      title,
      paper,
      needsDomains,
      domainFree,
      minDomains = 1,
      hparams,
      hparamsBySize,
      hparamsByDataset,
      backbone,
    }) => {
      const needs = [
        needsDomains
          ? `needs domain labels${domainFree ? ` unless ${inWords(domainFree)}` : ""}`
          : "needs no domain labels",
        ...(minDomains > 1 ? [`at least ${minDomains} training domains`] : []),
        ...(backbone?.stages ? ["a backbone with intermediate maps"] : []),
        ...(backbone?.extraChannels ? ["pictures"] : []),
      ];
      const small = hparamsBySize && knobsOf({ ...hparams, ...hparamsBySize.small });
      const byDataset = Object.entries(hparamsByDataset ?? {}).map(([name, own]) => [name, knobsOf(own)] as const);
      return {
        ...{ id, title, paper, about: needs.join(", "), knobs: knobsOf({ ...hparams, ...hparamsBySize?.large }) },
        facts: {
          needsDomains,
          ...(domainFree && { domainFree }),
          minDomains,
          ...(small && { hparamsOnSmallPictures: small }),
          ...(byDataset.length > 0 && { hparamsOnDatasets: Object.fromEntries(byDataset) }),
        },
      };
    },
  );
}

async function listDatasets(): Promise<Entry[]> {
  const { datasets } = await import("../data/datasets/index.js");
  return Object.values(datasets).map(
    ({ id, title, paper, summary, licence, source, layout, needsRoot, options, published, protocol }) => ({
      ...{ id, title, paper },
      about: `${summary}${published ? `; domains ${published.domains.map(({ name }) => name).join(", ")}` : ""}`,
      knobs: knobsOf(options),
      facts: { licence, source, layout, needsRoot, protocol, ...(published && { published }) },
    }),
  );
}

async function listBackbones(): Promise<Entry[]> {
  const { backbones, backboneNamed } = await import("../backbones/index.js");
  const { publishedWeights } = await import("../backbones/published-weights.js");
  return Object.keys(backbones).map((name) => {
    const { id, title, paper, weights, width, parameters, blocks } = backboneNamed(name);
    const published = publishedWeights().flatMap((each) => (each.backbone === id ? [each.name] : []));
    const size = parameters === undefined ? [] : [`${width} features, ${inMillions(parameters)} parameters`];
    const start = weights ? `initial weights: ${weights}` : "trained from scratch";
    return {
      ...{ id, title, paper, about: [...size, start].join("; ") },
      facts: {
        weights: weights ?? null,
        width: width ?? null,
        parameters: parameters ?? null,
        blocks: blocks ?? null,
        weightNames: published,
      },
    };
  });
}

const inMillions = (count: number): string => `${(count / 1e6).toFixed(1)} million`;

async function listRegularizers(): Promise<Entry[]> {
  const { regularizers } = await import("../regularizers/index.js");
  return Object.values(regularizers).map(({ id, title, paper, hparams, settings, overrides }) => {
    return { id, title, paper, knobs: [...knobsOf({ ...hparams, ...settings }), ...overriddenKnobs(overrides)] };
  });
}

/** The shared hyperparameters that a penalty searches in another range, on large pictures. */
function overriddenKnobs(overrides: HparamOverrides | undefined): Knob[] {
  const shared: Readonly<Record<string, Hparam>> = { ...sharedHparams({ dataset: "", size: "large" }) };
  return knobsOf(overrides?.large ?? {}).map((knob) => ({
    ...knob,
    meaning: `a search draws it from this range, and from ${shared[knob.name].range.text} without the penalty; with sharedSearch=true from the latter too`,
  }));
}

async function listAveraging(): Promise<Entry[]> {
  const { followers } = await import("../averaging/index.js");
  return Object.values(followers).map(({ id, title, paper, settings, forDataset }) => ({
    ...{ id, title, paper, knobs: knobsOf(settings) },
    facts: forDataset && { forDataset },
  }));
}

async function listOptimization(kind: "optimizers" | "schedules"): Promise<Entry[]> {
  const listed = (await import("../optim/index.js"))[kind];
  return Object.values(listed).map(({ id, title, paper, options }) => ({
    ...{ id, title, paper, knobs: knobsOf(options as Record<string, OptionWithDefault>) },
  }));
}

async function listSelections(): Promise<Entry[]> {
  const { selections } = await import("../selection/index.js");
  return Object.values(selections).map(({ id, title, about }) => ({ id, title, about }));
}

/** The kinds of values whose default already shows what they accept. */
const PLAIN = ["a number", "text", "true or false"];

function knobsOf(options: Readonly<Record<string, OptionWithDefault | Hparam>>): Knob[] {
  return Object.entries(options).map(([name, each]) => {
    const { range, reference, variants } = each as Partial<Hparam>;
    const accepts = variants?.join(" | ") ?? (PLAIN.includes(each.kind.accepts) ? undefined : each.kind.accepts);
    return {
      ...{ name, default: each.default as Knob["default"], ...(reference !== undefined && { reference }) },
      ...(range && !variants ? { range: range.text } : accepts !== undefined && { accepts }),
      ...(each.help !== "" && { meaning: each.help }),
    };
  });
}

const inWords = (settings: Readonly<Record<string, unknown>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

/** An entry with its facts and its other fields in one object. */
const flat = ({ facts, knobs, ...entry }: Entry): object => ({ ...entry, ...facts, ...(knobs && { hparams: knobs }) });

function listText(entries: readonly Entry[], note?: string): string {
  const width = Math.max(...entries.map(({ id }) => id.length));
  const blocks = entries.map(({ id, title, about, paper, knobs = [] }) =>
    [
      `${id.padEnd(width)}  ${[title, about].filter(Boolean).join(": ")}`,
      ...(paper === undefined ? [] : [`    ${paper}`]),
      ...knobLines(knobs),
    ].join("\n"),
  );
  return [...blocks, ...(note === undefined ? [] : [note])].join("\n\n");
}

/** A line for each: name, default, search range or allowed values, and DomainBed's name or the meaning. */
function knobLines(knobs: readonly Knob[]): string[] {
  const rows = knobs.map((knob) => [
    knob.name,
    shortNumber(knob.default),
    knob.range ?? knob.accepts ?? "",
    knob.meaning ?? knob.reference ?? "",
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => `    ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd());
}

/** 1/3 as 0.333333, and text unchanged. */
const shortNumber = (value: string | number | boolean): string =>
  typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
