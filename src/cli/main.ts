/**
 * The command line, `nudge <verb>`. A verb's module is imported only when it is asked for, so that help and the verbs
 * that do not compute never load the engine. Exit codes: 0, 1 (failed), 2 (called wrongly).
 */

import { Command } from "commander";
import { unknownName } from "../closest-name.js";
import { whenAddonIsMissing } from "../engine/load.js";
import { UsageError } from "../errors.js";
import { version } from "../library/version.js";
import { domainbedHint } from "./domainbed-options.js";
import { endOf } from "./failure.js";
import { buildOnFirstUse } from "./run-setup.js";

interface Verb {
  readonly summary: string;
  /** Whether it takes --plugin. */
  readonly plugins?: true;
  load(): Promise<Command>;
}

/** The verbs, in the order help lists them. */
const verbs: Readonly<Record<string, Verb>> = {
  quickstart: {
    summary: "ERM against ERM + NU, each domain left out once, on generated pictures",
    load: async () => (await import("./quickstart.js")).quickstartCommand(),
  },
  setup: {
    summary: "find or install libtorch and build the engine; verbs that compute do it when it is due",
    load: async () => (await import("./setup.js")).setupCommand(),
  },
  doctor: {
    summary: "engine, devices, threads, versions; what is missing and how to mend it",
    load: async () => (await import("./doctor.js")).doctorCommand(),
  },
  list: {
    summary:
      "algorithms, datasets, backbones, regularizers, averaging, optimizers, schedules and selections, with their settings",
    plugins: true,
    load: async () => (await import("./list.js")).listCommand(),
  },
  data: {
    summary: "get a benchmark; what a folder of pictures holds; whether a benchmark's copy is whole",
    plugins: true,
    load: async () => (await import("./data.js")).dataCommand(),
  },
  weights: {
    summary: "published starting weights by name: list, download, where they are kept",
    load: async () => (await import("./weights.js")).weightsCommand(),
  },
  train: {
    summary: "train a model, from your own pictures or by a benchmark's protocol; goes on where it was stopped",
    plugins: true,
    load: async () => (await import("./train.js")).trainCommand(),
  },
  sweep: {
    summary: "many runs: plan them, make them on one machine or a cluster, see how far they are",
    plugins: true,
    load: async () => (await import("./sweep.js")).sweepCommand(),
  },
  report: {
    summary: "tables from folders of runs, by a selection rule, beside the paper's numbers",
    plugins: true,
    load: async () => (await import("./report.js")).reportCommand(),
  },
  pack: {
    summary: "a sweep or a folder of runs in one compressed file, which report and dashboard read",
    load: async () => (await import("./pack.js")).packCommand(),
  },
  unpack: {
    summary: "the folders of a packed study again",
    load: async () => (await import("./unpack.js")).unpackCommand(),
  },
  dashboard: {
    summary: "a local page over a folder of runs: live curves, tables, sweep grids, the toy task",
    plugins: true,
    load: async () => (await import("./dashboard.js")).dashboardCommand(),
  },
  soup: {
    summary: "one model from the weights of several runs, compared with each of them",
    plugins: true,
    load: async () => (await import("./soup.js")).soupCommand(),
  },
  predict: {
    summary: "what a trained model says of pictures, and how far they lie from its training",
    plugins: true,
    load: async () => (await import("./predict.js")).predictCommand(),
  },
  serve: {
    summary: "a trained model over HTTP on this machine, with a page to drop pictures on",
    plugins: true,
    load: async () => (await import("./serve.js")).serveCommand(),
  },
  eval: {
    summary: "a model on labelled pictures: accuracy, mistakes, calibration, abstaining",
    plugins: true,
    load: async () => (await import("./eval.js")).evalCommand(),
  },
  embed: {
    summary: "features of pictures by a model: files, ranks, spectrum, a map of them",
    plugins: true,
    load: async () => (await import("./embed.js")).embedCommand(),
  },
  export: {
    summary: "a model for other programs, as ONNX or safetensors, with a model card",
    plugins: true,
    load: async () => (await import("./export.js")).exportCommand(),
  },
  synthetic: {
    summary: "the toy task of the paper's Section 3.1, over many seeds",
    load: async () => (await import("./synthetic.js")).syntheticCommand(),
  },
  theory: {
    summary: "the paper's Section 4 at a setting of yours, every statement checked",
    load: async () => (await import("./theory.js")).theoryCommand(),
  },
  bench: {
    summary: "the benchmarks behind the speed figures, beside PyTorch in the same run",
    load: async () => (await import("./bench.js")).benchCommand(),
  },
  parity: {
    summary: "an algorithm against what a reference implementation recorded: how far apart their updates are",
    plugins: true,
    load: async () => (await import("./parity.js")).parityCommand(),
  },
  completion: {
    summary: "a script that completes verbs, options and names in bash, zsh or fish",
    load: async () => (await import("./completion.js")).completionCommand(wholeProgram),
  },
};

/** The verb that is called or asked about: `nudge synthetic …`, `nudge help synthetic`. */
function verbOf(args: readonly string[]): string | undefined {
  const words = args[0] === "help" ? args.slice(1) : args;
  return words[0]?.startsWith("-") ? undefined : words[0];
}

/** Gives a command, or those under it, the option --plugin. */
function addPluginOption(command: Command): void {
  if (command.commands.length > 0) command.commands.forEach(addPluginOption);
  else
    command.option(
      "--plugin <file>",
      "a JavaScript file with algorithms, datasets and so on of your own; may be given more than once",
      (file: string, before: readonly string[] = []) => [...before, file],
    );
}

/** What to do about an error in how a command was called, where commander does not say. */
function advice(text: string, command: Command): string {
  if (text.includes("missing required argument")) return `\nUsage: ${command.createHelp().commandUsage(command)}\n`;
  if (text.includes("Did you mean")) return "\n";
  if (text.includes("unknown command")) {
    const known = command.createHelp().visibleCommands(command);
    return ` (known: ${known.map((each) => each.name()).join(", ")})\n`;
  }
  const [, option] = /unknown option '([^'=]+)/.exec(text) ?? [];
  const hint = option && domainbedHint(option, command);
  return hint ? `\n(DomainBed's; here it is ${hint})\n` : "\n";
}

/** Errors of a command and of those under it are ours to print and to turn into an exit code. */
function adopt(command: Command): void {
  command.exitOverride();
  command.configureOutput({
    outputError: (text, write) => write(text.replace(/^error: /, "nudge: ").trimEnd() + advice(text, command)),
  });
  command.commands.forEach(adopt);
}

/** The program with every verb loaded, for what reads commands and options, such as the reference in the docs. */
export const wholeProgram = (): Promise<Command> => programFor([], Object.keys(verbs));

async function programFor(args: readonly string[], also: readonly string[] = []): Promise<Command> {
  const asked = verbOf(args);
  if (asked !== undefined && !Object.hasOwn(verbs, asked))
    throw new UsageError(unknownName("verb", asked, Object.keys(verbs)));
  const program = new Command("nudge")
    .description(
      "Domain generalization with the nuclear norm: train classifiers that hold up on domains they never saw.",
    )
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help; nudge <verb> --help for a verb's own")
    .commandsGroup("Verbs:")
    .helpCommand("help [verb]", "print a verb's help")
    .usage("<verb> [options]");
  for (const [name, verb] of Object.entries(verbs)) {
    const loaded = name === asked || also.includes(name);
    const command = loaded ? await verb.load() : new Command(name);
    if (loaded && verb.plugins) addPluginOption(command);
    program.addCommand(command.summary(verb.summary));
  }
  program.hook("preAction", async (_, command) => {
    const { plugin = [] } = command.opts<{ plugin?: readonly string[] }>();
    if (plugin.length === 0 && !process.env.NUDGE_PLUGINS) return;
    if (asked !== undefined && verbs[asked].plugins) await (await import("./plugins.js")).loadPlugins(plugin);
  });
  adopt(program);
  return program;
}

/** Runs one command line, without the program's name, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  whenAddonIsMissing(buildOnFirstUse);
  try {
    const program = await programFor(args);
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? 0); // a verb that printed its answer may still have to say that it is a bad one
  } catch (error) {
    const { text, code } = endOf(error);
    if (text) process.stderr.write(`${text}\n`);
    return code;
  }
}
