/** The page of commands: the `--help` of every command. */
import { code, page, table } from "./markdown.mjs";

/** @typedef {import("commander").Command} Command */

/** @param {(path: string) => Promise<any>} load */
export async function commandsPage(load) {
  /** @type {{ wholeProgram: () => Promise<Command> }} */
  const { wholeProgram } = await load("cli/main");
  const program = await wholeProgram();
  const verbs = visible(program);
  return page(
    "Commands",
    "Run a command with `nudge <command>`, or `npx nudge <command>` in a clone. Exit codes: 0 = success, 1 = failure, 2 = usage error, 75 = stopped; run it again to resume.",
    table(
      ["command", "what it does"],
      verbs.map((verb) => [`[${code(verb.name())}](#nudge-${verb.name()})`, verb.summary()]),
    ),
    ...verbs.flatMap((verb) => sections(verb, "nudge")),
  );
}

/** The subcommands of a command, without hidden ones and `help`. @param {Command} command */
const visible = (command) =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help");

/** A command, followed by its subcommands. @param {Command} command @param {string} before @returns {string[]} */
function sections(command, before) {
  const name = `${before} ${command.name()}`;
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== "--help");
  const below = visible(command);
  const own = [
    `${before === "nudge" ? "##" : "###"} ${name}`,
    command.description(),
    below.length > 0 ? "" : `\`\`\`text\n${before} ${help.subcommandTerm(command)}\n\`\`\``,
    table(
      ["argument", "meaning"],
      command.registeredArguments.map((each) => [code(each.name()), help.argumentDescription(each)]),
    ),
    table(
      ["option", "meaning"],
      options.map((each) => [code(each.flags), help.optionDescription(each)]),
    ),
    examplesOf(command),
  ];
  return [...own, ...below.flatMap((each) => sections(each, name))];
}

/** The text below the options in the help of a command, which commander emits as an event. @param {Command} command */
function examplesOf(command) {
  /** @type {string[]} */
  const parts = [];
  const events = /** @type {import("node:events").EventEmitter} */ (/** @type {unknown} */ (command));
  events.emit("afterHelp", { error: false, command, write: (/** @type {string} */ part) => parts.push(part) });
  const text = parts.join("").replace(/^\n+/, "").trimEnd();
  return text === "" ? "" : `\`\`\`text\n${text}\n\`\`\``;
}
