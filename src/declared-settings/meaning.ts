/** What a setting means for rows of tables, whichever part of a run declares it. */

import { followers } from "../averaging/index.js";
import { optimizers, schedules } from "../optim/index.js";
import type { Option, Options } from "../options.js";
import { currentName } from "../options.js";
import { type AnyRegularizerDefinition, regularizers } from "../regularizers/index.js";
import { declared } from "./declared.js";

/** The options of a part by its id. */
function optionsOf(id: string): Options {
  const penalties: Readonly<Record<string, AnyRegularizerDefinition>> = regularizers;
  if (Object.hasOwn(penalties, id)) return { ...penalties[id].hparams, ...penalties[id].settings };
  if (Object.hasOwn(followers, id)) return followers[id].settings;
  if (Object.hasOwn(optimizers, id)) return optimizers[id].options;
  return Object.hasOwn(schedules, id) ? schedules[id].options : {};
}

/** The declaration of a setting: of a run, or of a part whose id stands before a dot. Undefined for hyperparameters of algorithms. */
export function declarationOf(name: string): Option | undefined {
  if (Object.hasOwn(declared, name)) return declared[name];
  const dot = name.indexOf(".");
  const options = optionsOf(name.slice(0, Math.max(0, dot)));
  const own = currentName(options, name.slice(dot + 1));
  return Object.hasOwn(options, own) ? options[own] : undefined;
}

/** Whether a setting makes a run another row of a table when the user sets it explicitly. */
export function makesRow(name: string): boolean {
  if (Object.hasOwn(declared, name) && (declared[name].names || declared[name].stored === "never")) return false;
  return declarationOf(name)?.pooled === undefined;
}

/** The only model whose rows a setting concerns; undefined if it concerns all. */
export const modelOf = (name: string): string | undefined => declarationOf(name)?.model;
