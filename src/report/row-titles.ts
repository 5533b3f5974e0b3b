/**
 * The titles of rows: the method as papers name it, and in brackets what was set by hand, less what all rows have alike.
 *
 * Of own pictures much is settled by the program: the length of training by the folder's size, the batch by the machine. That
 * tells no method from another, and nobody typed it, so a title has it only where two rows would have the same one without.
 */

import { type FixedSettings, pickFixed, withoutFixed } from "../records/fixed-settings.js";
import { type Method, methodKey } from "../records/index.js";
import { methodTitle } from "../settings/names.js";
import { FITTED, fittedName } from "./fitted-settings.js";

/** Titles by method key; `own` are the methods that have runs on own pictures only. */
export function rowTitles(
  methods: readonly Method[],
  common: FixedSettings,
  own: ReadonlySet<string>,
): Map<string, string> {
  const differing = ({ fixed }: Method): FixedSettings => withoutFixed(fixed, common);
  const titled = (method: Method, shown: (key: string) => boolean): string =>
    methodTitle({ ...method, fixed: pickFixed(differing(method), (name) => shown(fittedName(name))) });
  const titles = new Map<string, string>();
  const short = new Map<string, Method[]>();
  for (const method of methods) {
    const key = methodKey(method);
    const title = titled(method, (name) => !own.has(key) || !FITTED.includes(name));
    titles.set(key, title);
    short.set(title, [...(short.get(title) ?? []), method]);
  }
  for (const alike of short.values()) {
    if (alike.length < 2) continue;
    const shown = FITTED.slice(0, tellingCount(alike, titled));
    for (const method of alike) {
      const lists = alike.map((each) => Object.entries(differing(each)));
      // Of those, what they have alike tells nothing either.
      const tells = (name: string): boolean =>
        new Set(lists.map((list) => list.find(([own]) => fittedName(own) === name)?.[1])).size > 1;
      titles.set(
        methodKey(method),
        titled(method, (name) => !FITTED.includes(name) || (shown.includes(name) && tells(name))),
      );
    }
  }
  return titles;
}

/** How many of the fitted settings have to be named until no two of these methods have the same title. */
function tellingCount(
  methods: readonly Method[],
  titled: (method: Method, shown: (key: string) => boolean) => string,
): number {
  for (let count = 1; count < FITTED.length; count++) {
    const shown = FITTED.slice(0, count);
    const titles = methods.map((method) => titled(method, (name) => !FITTED.includes(name) || shown.includes(name)));
    if (new Set(titles).size === methods.length) return count;
  }
  return FITTED.length;
}
