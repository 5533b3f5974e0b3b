/** The declared settings in `settings.json`: their types, and the schema that checks them. */

import * as v from "valibot";
import { nameSchema, namesSchema, numberSchema, scalarsSchema } from "../files/stored-json.js";
import type { Kind, SettingScalar } from "../options.js";
import { declared } from "./declared.js";
import type { KeyName, keys } from "./keys.js";

/** A plug-in of a run, with its resolved hyperparameters and settings. */
export interface PluginSettings {
  readonly id: string;
  readonly settings: Readonly<Record<string, SettingScalar>>;
}

type Value<T> = [T] extends [number]
  ? number
  : [T] extends [boolean]
    ? boolean
    : [T] extends [readonly string[]]
      ? readonly string[]
      : [T] extends [string]
        ? string
        : SettingScalar;

type StoredValue<K extends KeyName> = (typeof keys)[K] extends {
  readonly kind: Kind<infer T>;
  readonly stored: infer S;
}
  ? S extends "as part"
    ? PluginSettings
    : S extends "as parts"
      ? readonly PluginSettings[]
      : S extends "or null"
        ? Value<T> | null
        : Value<T>
  : never;

/** The declared settings that `settings.json` has. Files of other versions can lack any of them. */
export type StoredKeys = {
  readonly [K in KeyName as (typeof keys)[K]["stored"] extends "never" ? never : K]?: StoredValue<K>;
};

const pluginSchema = v.object({ id: nameSchema, settings: scalarsSchema }, "{ id, settings }");

const SCALAR = "a value";
const scalarSchema = v.custom<SettingScalar>((value) => value === null || typeof value !== "object", SCALAR);

const BY_TYPE = { number: numberSchema, string: nameSchema, boolean: v.boolean("true or false"), list: namesSchema };

function schemaOf(name: string) {
  const { kind, stored } = declared[name];
  if (stored === "as part") return v.optional(pluginSchema);
  if (stored === "as parts") return v.array(pluginSchema, "a list of { id, settings }");
  const schema = kind.type === undefined ? scalarSchema : BY_TYPE[kind.type];
  return stored === "or null" ? v.nullish(v.string("a path")) : v.optional(schema);
}

/** The names of the declared settings in `settings.json`. */
export const storedKeys: readonly string[] = Object.keys(declared).filter((name) => declared[name].stored !== "never");

/** The checks of the declared settings in `settings.json`, by name. */
export const storedEntries = Object.fromEntries(storedKeys.map((name) => [name, schemaOf(name)]));

/** Some given settings as `settings.json` has them: without defaults that it leaves out. */
export function storedOf<K extends KeyName>(
  given: { readonly [N in K]?: unknown },
  ...names: readonly K[]
): { readonly [N in K]?: StoredKeys extends { readonly [M in N]?: infer V } ? V : never } {
  const isOmitted = (name: K): boolean =>
    given[name] === undefined || (declared[name].stored === "unless default" && given[name] === declared[name].default);
  return Object.fromEntries(names.filter((name) => !isOmitted(name)).map((name) => [name, given[name]])) as never;
}
