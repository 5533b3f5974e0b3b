/** Flags that are settings of a run, generated from the declarations of the settings (declared-settings/keys.ts). */

import { type Command, Option } from "commander";
import { type KeyName, keys, type Request } from "../declared-settings/keys.js";
import { boolean, list } from "../options.js";

const optionOf = (name: KeyName): Option => {
  const { flag, help } = keys[name];
  if (flag === undefined) throw new TypeError(`setting ${name} has no flag`);
  return new Option(flag, help);
};

/** Adds the flags of some settings to a command. */
export function addKeyFlags(command: Command, names: readonly KeyName[]): Command {
  for (const name of names) {
    const option = optionOf(name);
    const { kind } = keys[name];
    // Values stay as they were typed: they are parsed together with all other settings. The names are for completion.
    // A flag with a list can be repeated: --test-domain a --test-domain b.
    const read = (text: string, before?: string): string =>
      kind === list && before !== undefined ? `${before},${text}` : text;
    if (kind !== boolean) option.argParser(Object.assign(read, { known: kind.known ?? [] }));
    command.addOption(option);
    if (name === "pretrained")
      command.addOption(new Option("--no-pretrained", "start from random weights").default(undefined));
  }
  return command;
}

/** The settings that were given as such flags, by key. */
export function keysIn(flags: Readonly<Record<string, unknown>>, names: readonly KeyName[]): Request {
  const given = names.map((name) => [name, flags[optionOf(name).attributeName()]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** How a setting is written as a flag: `--eval-every` for `evaluateEvery`. */
export const flagOf = (name: string): string =>
  (Object.hasOwn(keys, name) && keys[name as KeyName].flag?.split(" ")[0]) ||
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
