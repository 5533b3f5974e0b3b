/** Explicit settings, by unambiguous names: `lr`, `mixup.alpha`, `data.size`. */

import type { SettingScalar } from "../options.js";

export type { SettingScalar };

export type FixedSettings = Readonly<Record<string, SettingScalar>>;

/** No explicit settings: all are defaults of the protocol. */
export const NOTHING_FIXED: FixedSettings = {};

/** `lr=0.1`. Values that could be confused with the surrounding text are quoted. */
export const fixedWord = (name: string, value: SettingScalar): string =>
  `${name}=${/[\s"\]]/.test(String(value)) ? JSON.stringify(value) : value}`;

/**
 * The settings as text, sorted by name, each as on the command line: `lr=0.1 steps=300`. `shown` maps names to printed
 * names.
 */
export const fixedText = (fixed: FixedSettings, shown = (name: string) => name): string =>
  Object.keys(fixed)
    .sort()
    .map((name) => fixedWord(shown(name), fixed[name]))
    .join(" ");

/** Parses settings from such a text. */
export function parseFixed(text: string): FixedSettings {
  const words = text.matchAll(/([^\s=]+)=("(?:[^"\\]|\\.)*"|\S*)/g);
  return Object.fromEntries(Array.from(words, ([, name, value]) => [name, parseScalar(value)]));
}

function parseScalar(text: string): SettingScalar {
  if (!/^(?:-?\d|true$|false$|null$|")/.test(text)) return text;
  try {
    return JSON.parse(text) as SettingScalar;
  } catch {
    return text;
  }
}

/** The settings that pass a filter. */
export const pickFixed = (fixed: FixedSettings, pick: (name: string, value: SettingScalar) => boolean): FixedSettings =>
  Object.fromEntries(Object.entries(fixed).filter(([name, value]) => pick(name, value)));

/** The settings that differ from `others`. */
export const withoutFixed = (fixed: FixedSettings, others: FixedSettings): FixedSettings =>
  pickFixed(fixed, (name, value) => others[name] !== value);

/** The settings that are equal in all. */
export function commonFixed(all: Iterable<FixedSettings>): FixedSettings {
  let common: FixedSettings | undefined;
  for (const fixed of all) {
    common = common === undefined ? fixed : pickFixed(common, (name, value) => fixed[name] === value);
    if (Object.keys(common).length === 0) break;
  }
  return common ?? NOTHING_FIXED;
}
