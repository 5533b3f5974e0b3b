/** Settings that were fixed by hand, by names that mean one value only: `lr`, `mixup.alpha`, `data.size`. */

export type SettingScalar = string | number | boolean | null;

export type FixedSettings = Readonly<Record<string, SettingScalar>>;

/** Nothing was fixed: all is as the protocol has it. */
export const NOTHING_FIXED: FixedSettings = {};

/** `lr=0.1`; values that could be confused with the surrounding words are in quotes. */
export const fixedWord = (name: string, value: SettingScalar): string =>
  `${name}=${/[\s"\]]/.test(String(value)) ? JSON.stringify(value) : value}`;

/** As words in the order of names, each as on the command line: `lr=0.1 steps=300`. `shown` is what names are printed as. */
export const fixedText = (fixed: FixedSettings, shown = (name: string) => name): string =>
  Object.keys(fixed)
    .sort()
    .map((name) => fixedWord(shown(name), fixed[name]))
    .join(" ");

/** The settings in such words. */
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

/** Those of some settings that pass. */
export const pickFixed = (fixed: FixedSettings, pick: (name: string, value: SettingScalar) => boolean): FixedSettings =>
  Object.fromEntries(Object.entries(fixed).filter(([name, value]) => pick(name, value)));

/** What is not fixed alike in `others`. */
export const withoutFixed = (fixed: FixedSettings, others: FixedSettings): FixedSettings =>
  pickFixed(fixed, (name, value) => others[name] !== value);

/** What is fixed alike in all. */
export function commonFixed(all: Iterable<FixedSettings>): FixedSettings {
  let common: FixedSettings | undefined;
  for (const fixed of all) {
    common = common === undefined ? fixed : pickFixed(common, (name, value) => fixed[name] === value);
    if (Object.keys(common).length === 0) break;
  }
  return common ?? NOTHING_FIXED;
}
