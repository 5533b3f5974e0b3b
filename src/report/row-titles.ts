/**
 * The titles of rows: the method as papers name it, and in brackets the explicit settings, without those that all rows
 * share.
 *
 * For own pictures the program chooses many settings: the length of training by the size of the folder, the batch size
 * by the machine. These do not distinguish methods, so a title includes them only if two rows would have the same title
 * without them.
 */

import { groupBy } from "../group-by.js";
import { type FixedSettings, pickFixed, withoutFixed } from "../records/fixed-settings.js";
import { type Method, methodKey } from "../records/index.js";
import { isExactProbe, methodTitle } from "../settings/names.js";
import { FITTED, fittedName } from "./fitted-settings.js";

/** Titles by method key. `own` are the methods with runs on own pictures only. */
export function rowTitles(
  methods: readonly Method[],
  common: FixedSettings,
  own: ReadonlySet<string>,
): Map<string, string> {
  const differing = (method: Method): FixedSettings => ({
    ...withoutFixed(method.fixed, common),
    ...(isExactProbe(method) && { probe: method.fixed.probe }), // it is the name of the method
  });
  const titled = (method: Method, shown: (key: string) => boolean): string =>
    methodTitle({ ...method, fixed: pickFixed(differing(method), (name) => shown(fittedName(name))) });
  const titles = new Map<string, string>();
  for (const method of methods) {
    const key = methodKey(method);
    titles.set(
      key,
      titled(method, (name) => !own.has(key) || !FITTED.includes(name)),
    );
  }
  for (const sameTitle of groupBy(methods, (method) => titles.get(methodKey(method))!).values()) {
    if (sameTitle.length < 2) continue;
    const shown = FITTED.slice(0, distinguishingCount(sameTitle, titled));
    for (const method of sameTitle) {
      const lists = sameTitle.map((each) => Object.entries(differing(each)));
      // Of these, values that are equal in all rows do not distinguish them either.
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

/** How many of the automatic settings must be named until no two methods have the same title. */
function distinguishingCount(
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
