/** The names that tables use: methods as in the papers (`ERM-NU`, `SWAD-CORAL`), datasets by title, domains by label. */

import { algorithms } from "../algorithms/index.js";
import { followers } from "../averaging/index.js";
import { datasets } from "../data/datasets/index.js";
import type { PluginFile } from "../definitions.js";
import { referenceDataset } from "../records/domainbed-names.js";
import { type FixedSettings, fixedText, NOTHING_FIXED, pickFixed } from "../records/fixed-settings.js";
import { CURRENT, type Method, withoutSlash } from "../records/index.js";
import { regularizers } from "../regularizers/index.js";

const titleIn = (known: Readonly<Record<string, { readonly title: string }>>, id: string): string =>
  Object.hasOwn(known, id) ? known[id].title : (titlesInRuns.get(id) ?? id);

/** The titles of definitions that are not loaded, as the settings of runs have them. */
const titlesInRuns = new Map<string, string>();

/** Uses the titles that runs have of the definitions of their plug-ins. */
export function useTitles(plugins: readonly PluginFile[]): void {
  for (const { titles = {} } of plugins) for (const [id, title] of Object.entries(titles)) titlesInRuns.set(id, title);
}

/** What is evaluated in runs in addition to the trained weights and their averages. */
const OTHER_MODELS: Readonly<Record<string, { readonly title: string }>> = {
  t3a: { title: "T3A" },
  retrained: { title: "Retrained" },
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

/** The name of logistic regression on frozen features, which has no algorithm. */
const EXACT_PROBE = "exact probe";

/** Whether the settings of a method name the exact probe. */
export const isExactProbe = ({ fixed }: Method): boolean => fixed.probe === "exact";

/** `ERM-NU` for ERM with the nuclear norm, `SWAD-NU` for its average; explicit settings follow in brackets. */
export function methodTitle(method: Method): string {
  const { algorithm, regularizers: penalties, model, fixed } = method;
  if (isExactProbe(method)) {
    const words = fixedText(pickFixed(fixed, (name) => name !== "probe"));
    return words === "" ? EXACT_PROBE : `${EXACT_PROBE} [${words}]`;
  }
  const trained = titleIn(algorithms, algorithm);
  const added = penalties.map((id) => titleIn(regularizers, id));
  // The papers omit ERM from the name of an average: SWAD is SWAD of ERM, SWAD-NU is SWAD of ERM-NU.
  const averaged = model === CURRENT ? [] : modelTitles(model);
  const parts = [...averaged, ...(averaged.length > 0 && algorithm === "erm" ? [] : [trained]), ...added];
  const title = parts.join("-");
  const words = fixedText(fixed, shortName(method));
  return words === "" ? title : `${title} [${words}]`;
}

/** The method of a run by name. A linear probe has another name than a run that trained the whole network. */
export const runMethodTitle = (method: Method, { probe }: { readonly probe?: unknown }): string =>
  probe === "exact" ? EXACT_PROBE : `${paperName(method)}${probe ? ", probe" : ""}`;

/** Settings of the algorithm and of a single penalty have no prefix, as on the command line: `weight=0.03`. */
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

/** The name under which papers print a method, without explicit settings. */
export const paperName = (method: Method): string => methodTitle({ ...method, fixed: NOTHING_FIXED });

/** The explicit settings other than those of the penalties: methods with equal values here differ only in the penalty. */
export const besidesPenalties = ({ regularizers: penalties, fixed }: Method): FixedSettings =>
  pickFixed(fixed, (name) => !penalties.some((id) => name.startsWith(`${id}.`)));

/** A name reduced to letters and digits, so that spellings of different papers compare as equal. */
export const bareName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/** The title of a dataset, or its name in DomainBed, or its id; a folder of own pictures has the name of the folder. */
export function datasetTitle(id: string): string {
  return Object.hasOwn(datasets, id) ? datasets[id].title : (referenceDataset(id)?.name ?? withoutSlash(id));
}

/** The column headings of a dataset's domains: the published labels, or the names. */
export function domainLabels(dataset: string, domains: readonly string[]): string[] {
  const published = Object.hasOwn(datasets, dataset) ? (datasets[dataset].published?.domains ?? []) : [];
  return domains.map((domain) => published.find(({ name }) => name === domain)?.label ?? domain);
}

/** The columns of the paper: its five benchmarks in this order, then the others in order of appearance. */
const PAPER_ORDER = ["vlcs", "pacs", "office-home", "terra-incognita", "domain-net"];

/** Datasets once each, those of the paper first. */
export function inPaperOrder(ids: readonly string[]): string[] {
  const present = new Set(ids);
  return [...PAPER_ORDER.filter((id) => present.has(id)), ...[...present].filter((id) => !PAPER_ORDER.includes(id))];
}
