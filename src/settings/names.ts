/** How tables name things: methods as the papers do (`ERM-NU`, `SWAD-CORAL`), datasets by title, domains by label. */

import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { datasets } from "../data/datasets/index.js";
import { referenceDataset } from "../records/domainbed-names.js";
import { type FixedSettings, fixedText, NOTHING_FIXED, pickFixed } from "../records/fixed-settings.js";
import { CURRENT, type Method, withoutSlash } from "../records/index.js";
import { regularizers } from "../regularizers/index.js";

const titleIn = (known: Readonly<Record<string, { readonly title: string }>>, id: string): string =>
  Object.hasOwn(known, id) ? known[id].title : id;

/** What is evaluated of runs besides the trained weights and their averages. */
const OTHER_MODELS: Readonly<Record<string, { readonly title: string }>> = {
  t3a: { title: "T3A" },
  soup: { title: "Soup" },
  "uniform-soup": { title: "Uniform-Soup" },
  ensemble: { title: "Ensemble" },
  "ensemble+moving-average": { title: "EoA" },
};

/** What is evaluated, as papers name it: `EoA`, or `Soup` and `SWAD`. */
function modelTitles(model: string): string[] {
  const known = { ...followers, ...OTHER_MODELS };
  return Object.hasOwn(known, model) ? [known[model].title] : model.split("+").map((part) => titleIn(known, part));
}

/** `ERM-NU` for ERM with the nuclear norm, `SWAD-NU` for its average; what was set by hand follows in brackets. */
export function methodTitle(method: Method): string {
  const { algorithm, regularizers: penalties, model, fixed } = method;
  const trained = titleIn(algorithms, algorithm);
  const added = penalties.map((id) => titleIn(regularizers, id));
  // The papers leave ERM out of an average's name: SWAD is SWAD of ERM, SWAD-NU of ERM-NU.
  const averaged = model === CURRENT ? [] : modelTitles(model);
  const parts = [...averaged, ...(averaged.length > 0 && algorithm === "erm" ? [] : [trained]), ...added];
  const title = parts.join("-");
  const words = fixedText(fixed, shortName(method));
  return words === "" ? title : `${title} [${words}]`;
}

/** A run's method by name; a linear probe is not taken for a run that trained the whole network. */
export const runMethodTitle = (method: Method, { probe }: { readonly probe?: unknown }): string =>
  probe === "exact" ? "exact probe" : `${paperName(method)}${probe ? ", probe" : ""}`;

/** What is set of the algorithm and the only penalty goes without their names, as on the command line: `weight=0.03`. */
function shortName({ algorithm, regularizers: penalties, fixed }: Method): (name: string) => string {
  const owners = [algorithm, ...(penalties.length === 1 ? penalties : [])];
  const short = (name: string): string => {
    const owner = owners.find((each) => name.startsWith(`${each}.`));
    return owner === undefined ? name : name.slice(owner.length + 1);
  };
  const isOnly = (name: string): boolean =>
    Object.keys(fixed).filter((each) => short(each) === short(name)).length === 1;
  return (name) => (isOnly(name) ? short(name) : name);
}

/** The name under which papers print a method, whatever was set by hand. */
export const paperName = (method: Method): string => methodTitle({ ...method, fixed: NOTHING_FIXED });

/** What was set by hand besides the penalties' own settings: methods alike in this differ in the penalty alone. */
export const besidesPenalties = ({ regularizers: penalties, fixed }: Method): FixedSettings =>
  pickFixed(fixed, (name) => !penalties.some((id) => name.startsWith(`${id}.`)));

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
