/**
 * What can be completed. It is read from the commands themselves and from the registries that training reads, so a new
 * verb, option or algorithm needs no change here. The scripts for the shells are generated from this model.
 */

import type { Command, Option } from "commander";

/** The possible values: known names, and whether files or folders are accepted too. */
export interface Values {
  readonly names: readonly string[];
  readonly paths: "files" | "folders" | null;
}

export interface CompletedOption {
  /** The spellings, such as `--help`, `-h`. */
  readonly flags: readonly string[];
  readonly about: string;
  /** The value of the option; null for a switch. */
  readonly value: Values | null;
}

export interface CompletedCommand {
  /** The words after the program's name: "", "sweep", "sweep plan". */
  readonly path: string;
  /** The subcommands. */
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly CompletedOption[];
  /** The possible values of its arguments. */
  readonly argument: Values;
}

type Names = Readonly<Record<string, readonly string[]>>;

/** The names of each kind of object, by the options and arguments that accept them. */
async function registeredNames(): Promise<Names> {
  const [algorithms, averaging, backbones, datasets, regularizers, selections, presets, launchers, weights] =
    await Promise.all([
      import("../algorithms/index.js").then((table) => Object.keys(table.algorithms)),
      import("../averaging/index.js").then((table) => Object.keys(table.followers)),
      import("../backbones/index.js").then((table) => Object.keys(table.backbones)),
      import("../data/datasets/index.js").then((table) => Object.keys(table.datasets)),
      import("../regularizers/index.js").then((table) => Object.keys(table.regularizers)),
      import("../selection/index.js").then((table) => Object.keys(table.selections)),
      import("../sweep/presets.js").then((table) => Object.keys(table.presets)),
      import("../sweep/launchers/index.js").then((table) => Object.keys(table.launchers)),
      import("../backbones/published-weights.js").then((table) => table.publishedWeights().map(({ name }) => name)),
    ]);
  const methods = [...algorithms, "ERM-NU", "SWAD", "SWAD-NU"];
  return {
    "--algorithm": methods,
    "--algorithms": methods,
    "--averaging": averaging,
    "--backbone": backbones,
    "--data": datasets,
    "--device": ["cpu", "cuda"],
    "--launcher": launchers,
    "--preset": presets,
    "--regularizer": regularizers,
    "--regularizers": regularizers,
    "--selection": selections,
    "--weights": weights,
    "<weights>": weights,
    "<name>": datasets, // nudge data verify
  };
}

/** The names that a value parser carries (see oneOf and someOf). */
function namesKnownTo(reader: unknown): readonly string[] {
  const known = typeof reader === "function" && "known" in reader ? reader.known : undefined;
  return Array.isArray(known) ? known : [];
}

/** The kind of path that a placeholder such as `<dir>` stands for. */
function pathsFor(placeholder: string): Values["paths"] {
  if (/\b(dirs?|folder|run)\b/.test(placeholder)) return "folders";
  return /\b(file|path|model|pictures)\b/.test(placeholder) ? "files" : null;
}

function optionOf(option: Option, names: Names): CompletedOption {
  const { flags, description, long, short, parseArg, required, optional } = option;
  const typed = [long, short].filter((flag) => flag !== undefined);
  const found = [...namesKnownTo(parseArg), ...(names[long ?? ""] ?? [])];
  const paths = long === "--data" ? "files" : pathsFor(flags.slice(flags.indexOf("<")));
  return { flags: typed, about: briefly(description), value: required || optional ? { names: found, paths } : null };
}

/** The first clause of a description, for lists with one line per entry. */
function briefly(text: string): string {
  const [first] = text.split(/[;:(]|\. |\.$/);
  return first.trim().length > 70 ? `${first.trim().slice(0, 69)}…` : first.trim();
}

function argumentOf(command: Command, names: Names): Values {
  const all = command.registeredArguments.map((argument): Values => {
    const name = `<${argument.name()}>`;
    const listed = /^[\w-]+(, [\w-]+)+$/.test(argument.description) ? argument.description.split(", ") : [];
    return {
      names: [...(argument.argChoices ?? []), ...(listed.length > 0 ? listed : (names[name] ?? []))],
      paths: pathsFor(name),
    };
  });
  const paths = all.map((each) => each.paths).filter((each) => each !== null);
  return {
    names: all.flatMap((each) => each.names),
    paths: paths.includes("files") ? "files" : (paths[0] ?? null),
  };
}

function walk(command: Command, path: string, names: Names): CompletedCommand[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const own: CompletedCommand = {
    path,
    commands: below.map((each) => ({ name: each.name(), about: briefly(each.summary() || each.description()) })),
    options: help.visibleOptions(command).map((option) => optionOf(option, names)),
    argument: argumentOf(command, names),
  };
  const others = below.filter((each) => each.name() !== "help");
  return [own, ...others.flatMap((each) => walk(each, `${path} ${each.name()}`.trim(), names))];
}

/** Everything that can be completed, one entry per command. The first entry is the program itself. */
export async function completionModel(program: Command): Promise<CompletedCommand[]> {
  const commands = walk(program, "", await registeredNames());
  const verbs = commands[0].commands.map(({ name }) => name).filter((name) => name !== "help");
  return [
    ...commands,
    { path: "help", commands: [], options: [], argument: { names: verbs, paths: null } }, // nudge help <verb>
  ];
}
