/** What every verb and subcommand owes whoever asks for help, checked on all of them through the program itself. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { main, wholeProgram } from "../../src/cli/main.js";
import { catchPrinted } from "../support/printed.js";
import { nudgeWords } from "../support/start-nudge.js";

const printed = catchPrinted();

interface Asked {
  readonly path: string;
  readonly command: Command;
}

/** A command and those under it, as help lists them. */
function walk(command: Command, path: string): Asked[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help");
  return [{ path, command }, ...below.flatMap((each) => walk(each, `${path} ${each.name()}`))];
}

const commands = walk(await wholeProgram(), "nudge").slice(1);

/** Verbs that do something and say that they did: no data, so nothing for --json. */
const ACTS = [
  "nudge weights get",
  "nudge weights where",
  "nudge sweep run",
  "nudge sweep retry",
  "nudge sweep cancel",
  "nudge completion",
];

test("all commands and subcommands are checked", () => {
  expect(commands.length).toBeGreaterThan(25);
});

test.each(commands)(
  "$path: help has a sentence, examples of the command, and lines that fit",
  async ({ path, command }) => {
    expect(await main([...path.split(" ").slice(1), "--help"])).toBe(0);
    const help = printed.stdout;
    expect(printed.stderr).toBe("");
    expect(command.description()).toMatch(/^[A-Z].*\.$/s);
    const examples = help.slice(help.indexOf("\nExamples:\n"));
    expect(examples).toMatch(/^\nExamples:\n/);
    expect(examples).toContain(`nudge ${path.split(" ")[1]} `.trimEnd());
    expect(help.split("\n").filter((line) => line.length > 100)).toEqual([]);
    // Sentences fit into the usual terminal; a terminal that is narrower wraps them again.
    expect(help.split("\n").filter((line) => line.length > 80 && !line.startsWith(" "))).toEqual([]);
    for (const option of command.createHelp().visibleOptions(command)) {
      expect(option.description).not.toBe("");
      expect(option.description).not.toMatch(/\.$/); // clauses, not sentences
    }
  },
);

test.each(commands)("$path: its examples use existing options", async ({ path, command }) => {
  expect(await main([...path.split(" ").slice(1), "--help"])).toBe(0);
  const words = path.split(" ");
  const lines = printed.stdout.split("\n").filter((line) => line.trim().startsWith(`${path} `));
  const known = new Set(command.options.flatMap(({ long, short }) => [long, short]));
  for (const line of lines) {
    const called = line.trim().split(/ {2,}/)[0].split(" ").slice(words.length);
    if (command.commands.length > 0) continue; // those of a subcommand are looked at there
    for (const word of called) if (/^--\w/.test(word)) expect([line, known.has(word)]).toEqual([line, true]);
  }
});

test("every command that prints data has --json with a description", () => {
  const without = commands.filter(
    ({ path, command }) =>
      command.commands.length === 0 && !ACTS.includes(path) && !command.options.some(({ long }) => long === "--json"),
  );
  expect(without.map(({ path }) => path)).toEqual([]);
  for (const { command } of commands)
    for (const { long, description } of command.options) if (long === "--json") expect(description).toMatch(/JSON/);
});

test("the exit code is 0 for help and 2 for a usage error, for every command", async () => {
  for (const { path } of commands) {
    expect([path, await main([...path.split(" ").slice(1), "--no-such-option"])]).toEqual([path, 2]);
    expect(printed.stderr).toMatch(/^nudge: (unknown option '--no-such-option'|required option )/m);
    printed.stderr = "";
  }
});

test("no output is colored; terminal output only moves the cursor and clears lines", () => {
  const source = join(import.meta.dirname, "../../src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const coloured = files.filter((name) => /(\\x1b|\\u001b)\[[\d;]*m/.test(readFileSync(join(source, name), "utf8")));
  expect(coloured).toEqual([]);
  const [node, ...words] = nudgeWords;
  const { stdout } = spawnSync(node, [...words, "list", "algorithms"], {
    encoding: "utf8",
    env: { ...process.env, FORCE_COLOR: "1" },
  });
  expect(stdout).toContain("ERM");
  expect(stdout).not.toContain("\x1b");
});
