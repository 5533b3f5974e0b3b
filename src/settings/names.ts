/** How tables name things: methods as the papers do (`ERM-NU`, `SWAD-CORAL`), datasets by title, domains by label. */

import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { datasets } from "../data/datasets/index.js";
import { referenceDataset } from "../records/domainbed-names.js";
import { CURRENT, type Method, withoutSlash } from "../records/index.js";
import { regularizers } from "../regularizers/index.js";

const titleIn = (known: Readonly<Record<string, { readonly title: string }>>, id: string): string =>
  Object.hasOwn(known, id) ? known[id].title : id;

/** `ERM-NU` for ERM with the nuclear norm, `SWAD-NU` for its average; what was set by hand follows in brackets. */
export function methodTitle({ algorithm, regularizers: penalties, model, variant }: Method): string {
  const trained = titleIn(algorithms, algorithm);
  const added = penalties.map((id) => titleIn(regularizers, id));
  // The papers leave ERM out of an average's name: SWAD is SWAD of ERM, SWAD-NU of ERM-NU.
  const averaged = model === CURRENT ? [] : [titleIn(followers, model)];
  const parts = [...averaged, ...(averaged.length > 0 && algorithm === "erm" ? [] : [trained]), ...added];
  return variant === "" ? parts.join("-") : `${parts.join("-")} [${shortVariant(variant, [algorithm, ...penalties])}]`;
}

/** A run's method by name; a linear probe is not taken for a run that trained the whole network. */
export const runMethodTitle = (method: Method, { probe }: { readonly probe?: unknown }): string =>
  `${paperName(method)}${probe ? ", probe" : ""}`;

/** What is set of the algorithm and the only penalty goes without their names, as on the command line: `weight=0.03`. */
function shortVariant(variant: string, [algorithm, penalty, ...others]: readonly string[]): string {
  const owners = others.length > 0 ? [algorithm] : [algorithm, penalty];
  const short = (word: string): string => {
    const owner = owners.find((each) => word.startsWith(`${each}.`));
    return owner === undefined ? word : word.slice(owner.length + 1);
  };
  const words = variant.split(" ");
  const names = words.map((word) => short(word).split("=")[0]);
  const isOnly = (i: number): boolean => names.indexOf(names[i]) === names.lastIndexOf(names[i]);
  return words.map((word, i) => (isOnly(i) ? short(word) : word)).join(" ");
}

/** The name under which papers print a method, whatever was set by hand. */
export const paperName = (method: Method): string => methodTitle({ ...method, variant: "" });

/** What was set by hand besides the penalties' own settings: methods alike in this differ in the penalty alone. */
export function variantBesidesPenalties({ regularizers: penalties, variant }: Method): string {
  const words = variant.split(" ").filter((word) => !penalties.some((id) => word.startsWith(`${id}.`)));
  return words.join(" ");
}

/** A name with nothing left but letters and digits, by which names of different papers are held to be the same. */
export const bareName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** A dataset's title, or DomainBed's name of it, or its id; a folder of own pictures goes by its name. */
export function datasetTitle(id: string): string {
  return Object.hasOwn(datasets, id) ? datasets[id].title : (referenceDataset(id)?.name ?? withoutSlash(id));
}

/** The headings of a dataset's domains: the published labels, else the names. */
export function domainLabels(dataset: string, domains: readonly string[]): string[] {
  const published = Object.hasOwn(datasets, dataset) ? (datasets[dataset].published?.domains ?? []) : [];
  return domains.map((domain) => published.find(({ name }) => name === domain)?.label ?? domain);
}

/** The paper's columns: its five benchmarks in this order, then the others as they appear. */
const PAPER_ORDER = ["vlcs", "pacs", "office-home", "terra-incognita", "domain-net"];

/** Datasets once each, the paper's first. */
export function inPaperOrder(ids: readonly string[]): string[] {
  const present = new Set(ids);
  return [...PAPER_ORDER.filter((id) => present.has(id)), ...[...present].filter((id) => !PAPER_ORDER.includes(id))];
}
