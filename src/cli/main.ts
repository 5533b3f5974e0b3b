/**
 * The command line, `nudge <verb>`. The module of a verb is imported only when the verb is used, so that help and the
 * verbs that do not compute never load the engine. Exit codes: 0, 1 (failure), 2 (usage error).
 */

import { Command } from "commander";
import { unknownName } from "../closest-name.js";
import { onMissingAddon } from "../engine/load.js";
import { UsageError } from "../errors.js";
import { version } from "../library/version.js";
import { commonHint, domainbedHint } from "./domainbed-options.js";
import { endOf } from "./failure.js";
import { buildOnFirstUse } from "./run-setup.js";

interface Verb {
  readonly summary: string;
  /** Whether it accepts --plugin. */
  readonly plugins?: true;
  load(): Promise<Command>;
}

/** The verbs, in the order in which help lists them. */
const verbs: Readonly<Record<string, Verb>> = {
  quickstart: {
    summary: "compare ERM and ERM + NU on generated pictures, holding out each domain in turn",
    load: async () => (await import("./quickstart.js")).quickstartCommand(),
  },
  tour: {
    summary: "train on real pictures with real weights, through npm, and evaluate on a style that was withheld",
    load: async () => (await import("./tour.js")).tourCommand(),
  },
  setup: {
    summary: "find or install libtorch and build the engine (other verbs do this when needed)",
    load: async () => (await import("./setup.js")).setupCommand(),
  },
  doctor: {
    summary: "check the engine, devices, threads and versions, and print how to fix problems",
    load: async () => (await import("./doctor.js")).doctorCommand(),
  },
  list: {
    summary: "list algorithms, datasets, backbones, regularizers, averaging, optimizers, schedules and selections",
    plugins: true,
    load: async () => (await import("./list.js")).listCommand(),
  },
  data: {
    summary: "download a benchmark, inspect a folder of pictures, review labels, verify a copy",
    plugins: true,
    load: async () => (await import("./data.js")).dataCommand(),
  },
  weights: {
    summary: "list and download pretrained weights",
    load: async () => (await import("./weights.js")).weightsCommand(),
  },
  train: {
    summary: "train a model on your own pictures or on a benchmark; can be stopped and resumed",
    plugins: true,
    load: async () => (await import("./train.js")).trainCommand(),
  },
  sweep: {
    summary: "plan many runs, run them on one machine or a cluster, and follow their progress",
    plugins: true,
    load: async () => (await import("./sweep.js")).sweepCommand(),
  },
  report: {
    summary: "print tables of accuracy and comparisons from folders of runs",
    plugins: true,
    load: async () => (await import("./report.js")).reportCommand(),
  },
  pack: {
    summary: "pack a sweep or a folder of runs into one file that report and dashboard read",
    load: async () => (await import("./pack.js")).packCommand(),
  },
  unpack: {
    summary: "restore the folders of a packed study",
    load: async () => (await import("./unpack.js")).unpackCommand(),
  },
  dashboard: {
    summary: "serve a local web page with the curves, tables and sweeps of a folder of runs",
    plugins: true,
    load: async () => (await import("./dashboard.js")).dashboardCommand(),
  },
  soup: {
    summary: "average the weights of several runs into one model",
    plugins: true,
    load: async () => (await import("./soup.js")).soupCommand(),
  },
  predict: {
    summary: "predict the class of pictures, and mark those unlike the training pictures",
    plugins: true,
    load: async () => (await import("./predict.js")).predictCommand(),
  },
  serve: {
    summary: "serve a model over HTTP on this machine, with a page for trying it",
    plugins: true,
    load: async () => (await import("./serve.js")).serveCommand(),
  },
  eval: {
    summary: "evaluate a model on labelled pictures: accuracy, mistakes, calibration",
    plugins: true,
    load: async () => (await import("./eval.js")).evalCommand(),
  },
  estimate: {
    summary: "estimate a model's accuracy on pictures without labels",
    plugins: true,
    load: async () => (await import("./estimate.js")).estimateCommand(),
  },
  adapt: {
    summary: "adapt a model to a new site with a few labelled pictures from it",
    plugins: true,
    load: async () => (await import("./adapt.js")).adaptCommand(),
  },
  embed: {
    summary: "compute a model's features of pictures: files, rank, spectrum, map",
    plugins: true,
    load: async () => (await import("./embed.js")).embedCommand(),
  },
  export: {
    summary: "write a model as ONNX or safetensors, with a model card",
    plugins: true,
    load: async () => (await import("./export.js")).exportCommand(),
  },
  synthetic: {
    summary: "run the toy task of the paper's Section 3.1 over many seeds",
    load: async () => (await import("./synthetic.js")).syntheticCommand(),
  },
  theory: {
    summary: "evaluate and check the statements of the paper's Section 4",
    load: async () => (await import("./theory.js")).theoryCommand(),
  },
  bench: {
    summary: "run the speed benchmarks, optionally with PyTorch for comparison",
    load: async () => (await import("./bench.js")).benchCommand(),
  },
  parity: {
    summary: "compare the updates of an algorithm with those of a reference implementation",
    plugins: true,
    load: async () => (await import("./parity.js")).parityCommand(),
  },
  completion: {
    summary: "print a completion script for bash, zsh or fish",
    load: async () => (await import("./completion.js")).completionCommand(wholeProgram),
  },
};

/** The verb of the command line or of the help request: `nudge synthetic …`, `nudge help synthetic`. */
function verbOf(args: readonly string[]): string | undefined {
  const words = args[0] === "help" ? args.slice(1) : args;
  return words[0]?.startsWith("-") ? undefined : words[0];
}

/** Adds the option --plugin to a command or to its subcommands. */
function addPluginOption(command: Command): void {
  if (command.commands.length > 0) command.commands.forEach(addPluginOption);
  else
    command.option(
      "--plugin <file>",
      "a JavaScript file that defines your own algorithms, datasets and so on; can be repeated",
      (file: string, before: readonly string[] = []) => [...before, file],
    );
}

/** Advice about a usage error, for errors where commander gives none. */
function advice(text: string, command: Command): string {
  if (text.includes("missing required argument")) return `\nUsage: ${command.createHelp().commandUsage(command)}\n`;
  const [, given] = /unknown option '([^'=]+)/.exec(text) ?? [];
  const common = given && commonHint(given, command);
  if (common) return `\n(here: ${common})\n`;
  if (text.includes("Did you mean")) return "\n";
  if (text.includes("unknown command")) {
    const known = command.createHelp().visibleCommands(command);
    return ` (known: ${known.map((each) => each.name()).join(", ")})\n`;
  }
  const hint = given && domainbedHint(given, command);
  return hint ? `\n(an option of DomainBed; here: ${hint})\n` : "\n";
}

/** Errors of a command and its subcommands are printed here and turned into an exit code. */
function adopt(command: Command): void {
  command.exitOverride();
  command.configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, "nudge: ").trimEnd() + advice(text, command)),
  });
  command.commands.forEach(adopt);
}

/** The program with all verbs loaded, for readers of commands and options such as the generated reference. */
export const wholeProgram = (): Promise<Command> => programFor([], Object.keys(verbs));

async function programFor(args: readonly string[], also: readonly string[] = []): Promise<Command> {
  const requested = verbOf(args);
  if (requested !== undefined && !Object.hasOwn(verbs, requested))
    throw new UsageError(unknownName("verb", requested, Object.keys(verbs)));
  const program = new Command("nudge")
    .description(
      "Domain generalization with the nuclear norm: train classifiers that generalize to domains they have not seen.",
    )
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help; use nudge <verb> --help for the help of a verb")
    .commandsGroup("Verbs:")
    .helpCommand("help [verb]", "print the help of a verb")
    .usage("<verb> [options]");
  for (const [name, verb] of Object.entries(verbs)) {
    const loaded = name === requested || also.includes(name);
    const command = loaded ? await verb.load() : new Command(name);
    if (loaded && verb.plugins) addPluginOption(command);
    program.addCommand(command.summary(verb.summary));
  }
  program.hook("preAction", async (_, command) => {
    const { plugin = [] } = command.opts<{ plugin?: readonly string[] }>();
    if (plugin.length === 0 && !process.env.NUDGE_PLUGINS) return;
    if (requested !== undefined && verbs[requested].plugins) await (await import("./plugins.js")).loadPlugins(plugin);
  });
  adopt(program);
  return program;
}

/** Runs one command line, without the program's name, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  onMissingAddon(buildOnFirstUse);
  try {
    const program = await programFor(args);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0); // a verb that printed its result can still have set an exit code
  } catch (error) {
    const { text, code } = endOf(error);
    if (text) process.stderr.write(`${text}\n`);
    return code;
  }
}
