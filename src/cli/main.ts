/**
 * The command line, `nudge <verb>`. A verb's module is imported only when it is asked for, so that help and the verbs
 * that do not compute never load the engine. Exit codes: 0, 1 (failed), 2 (called wrongly).
 */

import { Command } from "commander";
import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { endOf } from "./failure.js";
import { version } from "./version.js";

interface Verb {
  readonly summary: string;
  load(): Promise<Command>;
}

/** The verbs, in the order help lists them. */
const verbs: Readonly<Record<string, Verb>> = {
  quickstart: {
    summary: "ERM against ERM + NU, each domain left out once, on generated pictures",
    load: async () => (await import("./quickstart.js")).quickstartCommand(),
  },
  doctor: {
    summary: "engine, devices, threads, versions; what is missing and how to mend it",
    load: async () => (await import("./doctor.js")).doctorCommand(),
  },
  list: {
    summary: "algorithms, datasets, backbones, regularizers, averaging and selections, with their settings",
    load: async () => (await import("./list.js")).listCommand(),
  },
  data: {
    summary: "what a folder of pictures holds; whether a benchmark's copy is whole",
    load: async () => (await import("./data.js")).dataCommand(),
  },
  train: {
    summary: "train one model with some domains held out; goes on where it was stopped",
    load: async () => (await import("./train.js")).trainCommand(),
  },
  report: {
    summary: "tables from folders of runs, by a selection rule, beside the paper's numbers",
    load: async () => (await import("./report.js")).reportCommand(),
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
};

/** The verb that is called or asked about: `nudge synthetic …`, `nudge help synthetic`. */
function verbOf(args: readonly string[]): string | undefined {
  const words = args[0] === "help" ? args.slice(1) : args;
  return words[0]?.startsWith("-") ? undefined : words[0];
}

/** Errors of a command and of those under it are ours to print and to turn into an exit code. */
function adopt(command: Command): void {
  command.exitOverride();
  command.configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "nudge: ")) });
  command.commands.forEach(adopt);
}

async function programFor(args: readonly string[]): Promise<Command> {
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
    const command = name === asked ? await verb.load() : new Command(name);
    program.addCommand(command.summary(verb.summary));
  }
  adopt(program);
  return program;
}

/** Runs one command line, without the program's name, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
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
