/**
 * Separates runs that are not alike (records/identity.ts): where runs of one method differ in more than trial, draw and
 * seed, each kind becomes a row of its own, labelled by what differs and nothing else. An unknown fact of an earlier
 * version shares a row with unknown ones only, or with one known value under a note.
 */

import { basename } from "node:path";
import { groupBy } from "../group-by.js";
import { type EvaluatedRun, type Method, methodKey } from "../records/evaluated-run.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import { type Facts, factsIn, type Identity, identityOf } from "../records/identity.js";
import { isOwnDataset, withoutSlash } from "../records/own-pictures.js";
import type { RunSettings, SettingScalar, StoredRun } from "../records/run.js";

export interface ApartRuns {
  readonly runs: EvaluatedRun[];
  readonly notes: string[];
}

type StoredOf = (run: EvaluatedRun) => StoredRun | undefined;

/** The runs with the rows they belong to, and notes on facts that are not known. */
export function withRowsApart(all: readonly EvaluatedRun[], storedOf: StoredOf): ApartRuns {
  const ordered = withPenaltiesInOrder(withFoldersApart(all, storedOf));
  const notes: string[] = [];
  const changed = new Map<EvaluatedRun, EvaluatedRun>();
  for (const runs of groupBy(ordered, ({ dataset, domains }) => `${dataset}\n${domains.join("\n")}`).values()) {
    const [{ dataset }] = runs;
    const rows = [...groupBy(runs, ({ method }) => methodKey(method)).values()];
    const labels = new Labels(rows, storedOf);
    notes.push(...labels.notes(dataset));
    if (labels.isEmpty) continue;
    for (const run of runs) {
      const added = labels.of(run);
      if (Object.keys(added).length > 0) changed.set(run, relabelled(run, added));
    }
  }
  return { runs: ordered.map((run) => changed.get(run) ?? run), notes };
}

const methods = new WeakMap<Method, Map<string, Method>>();

/** One object for all runs of a row, because keys of methods are cached. */
function relabelled(run: EvaluatedRun, added: FixedSettings): EvaluatedRun {
  const known = methods.get(run.method) ?? new Map<string, Method>();
  methods.set(run.method, known);
  const key = JSON.stringify(added);
  const method = known.get(key) ?? { ...run.method, fixed: { ...run.method.fixed, ...added } };
  known.set(key, method);
  return withMethod(run, method);
}

/** The run as one of another row. Its evaluations can be unpacked at each access, and are not unpacked here. */
const withMethod = (run: EvaluatedRun, method: Method): EvaluatedRun => ({
  ...run,
  method,
  get evaluations() {
    return run.evaluations;
  },
});

/**
 * Folders of own pictures with the same name. The name of the path distinguishes them where no fingerprint of the
 * pictures is in both; a folder that was copied or moved is the same.
 */
function withFoldersApart(runs: readonly EvaluatedRun[], storedOf: StoredOf): EvaluatedRun[] {
  const byName = groupBy(
    runs.filter((run) => isOwnDataset(storedOf(run)?.settings.dataset ?? "")),
    ({ dataset, domains }) => `${dataset}\n${domains.join("\n")}`,
  );
  const names = new Map<EvaluatedRun, string>();
  for (const own of byName.values()) {
    const folders: { readonly path: string; readonly keys: Set<string>; readonly runs: EvaluatedRun[] }[] = [];
    for (const run of own) {
      const { data = "", facts, pictures } = storedOf(run)!.settings;
      const keys = [
        `path ${data}`,
        ...[facts?.samples.hash ?? pictures ?? []].flat().map((hash) => `pictures ${hash}`),
      ];
      const same = folders.filter((folder) => keys.some((key) => folder.keys.has(key)));
      const [first = { path: data, keys: new Set<string>(), runs: [] }, ...others] = same;
      if (same.length === 0) folders.push(first);
      for (const other of others) {
        folders.splice(folders.indexOf(other), 1);
        for (const key of other.keys) first.keys.add(key);
        first.runs.push(...other.runs);
      }
      for (const key of keys) first.keys.add(key);
      first.runs.push(run);
    }
    if (folders.length > 1)
      for (const { path, runs: inside } of folders)
        for (const run of inside) names.set(run, `${run.dataset} (${path})`);
  }
  return runs.map((run) => {
    const dataset = names.get(run);
    if (dataset === undefined) return run;
    return {
      ...run,
      dataset,
      get evaluations() {
        return run.evaluations;
      },
    };
  });
}

/** The penalties of a method are a set: runs with another order of them are the same row. */
function withPenaltiesInOrder(runs: readonly EvaluatedRun[]): EvaluatedRun[] {
  const orders = new Map<string, readonly string[]>();
  const others = new Map<Method, Method>();
  return runs.map((run) => {
    const { regularizers } = run.method;
    if (regularizers.length < 2) return run;
    const set = regularizers.toSorted().join(" ");
    const first = orders.get(set) ?? regularizers;
    orders.set(set, first);
    if (first.every((id, i) => id === regularizers[i])) return run;
    const method = others.get(run.method) ?? { ...run.method, regularizers: first };
    others.set(run.method, method);
    return withMethod(run, method);
  });
}

/** What distinguishes the runs of the rows of a dataset. */
class Labels {
  private readonly identities = new Map<EvaluatedRun, Facts>();
  private readonly settings = new Map<EvaluatedRun, RunSettings>();
  /** The names of facts in which runs of one row differ. */
  private readonly names: ReadonlySet<string>;
  /** The values of these names. */
  private readonly values = new Map<string, Set<SettingScalar>>();
  private readonly unknown = new Map<string, number>();

  constructor(rows: readonly (readonly EvaluatedRun[])[], storedOf: StoredOf) {
    const names = new Set<string>();
    const inData = new Map<string, Set<SettingScalar>>();
    const mixed = new Map<readonly EvaluatedRun[], Facts[]>();
    for (const row of rows) {
      const found = this.factsOf(row, storedOf);
      mixed.set(row, found);
      const sets = valuesIn(found);
      for (const [name, { known, missing }] of sets) {
        if (known.size > 1) names.add(name);
        else if (known.size === 1 && missing > 0) this.unknown.set(name, (this.unknown.get(name) ?? 0) + missing);
      }
    }
    for (const identity of this.dataFacts)
      for (const [name, value] of Object.entries(identity))
        if (value !== undefined) inData.set(name, (inData.get(name) ?? new Set()).add(value));
    for (const [name, known] of inData) if (known.size > 1) names.add(name);
    if (names.has("imports")) names.add("plugin");
    this.names = names;
    if (names.size === 0) return;
    // Rows whose runs are alike were not looked into, and are labelled too.
    for (const row of rows) for (const run of row) this.lookInto(run, storedOf);
    for (const facts of this.identities.values())
      for (const name of names)
        if (facts[name] !== undefined) this.values.set(name, (this.values.get(name) ?? new Set()).add(facts[name]!));
  }

  private readonly dataFacts = new Set<Facts>();

  get isEmpty(): boolean {
    return this.names.size === 0;
  }

  /** The distinct facts of the runs of a row; the first alone if the settings of all are the same objects. */
  private factsOf(row: readonly EvaluatedRun[], storedOf: StoredOf): Facts[] {
    const compared = row.filter(({ testDomains }) => testDomains.length > 0);
    const found: Facts[] = [];
    let before: { settings: RunSettings; facts: Facts } | undefined;
    const known = new Map<string, Facts>();
    for (const run of compared) {
      const settings = storedOf(run)?.settings;
      if (before && settings && areAlike(before.settings, settings)) {
        found.push(before.facts);
        continue;
      }
      const own = this.lookInto(run, storedOf);
      if (!own) continue;
      const text = JSON.stringify(own, (_, value) => (value === undefined ? "?" : value));
      const facts = known.get(text) ?? own;
      known.set(text, facts);
      if (settings) before = { settings, facts };
      found.push(facts);
    }
    return found;
  }

  /** The facts of a run; undefined if nothing is known. */
  private lookInto(run: EvaluatedRun, storedOf: StoredOf): Facts | undefined {
    const before = this.identities.get(run);
    if (before) return before;
    const settings = storedOf(run)?.settings;
    const identity: Identity | undefined = settings && identityOf(settings, run.method.model);
    const facts = identity ? factsIn(identity) : run.arguments;
    if (!facts) return undefined;
    if (identity) this.dataFacts.add(identity.data);
    this.identities.set(run, facts);
    if (settings) this.settings.set(run, settings);
    return facts;
  }

  /** The labels of a run, by names of settings. */
  of(run: EvaluatedRun): FixedSettings {
    const facts = this.identities.get(run);
    const labels: Record<string, SettingScalar> = {};
    if (!facts) return labels;
    for (const name of this.names) {
      if (!Object.hasOwn(facts, name)) continue; // drawn, or a setting of another method
      Object.assign(labels, this.label(name, facts[name], this.settings.get(run)));
    }
    return labels;
  }

  private label(name: string, value: SettingScalar | undefined, settings: RunSettings | undefined): FixedSettings {
    if (name === "imports") return {};
    if (name === "plugin") return { code: settings ? this.codeLabel(settings) : "unknown" };
    if (value === undefined) return { [name === "samples" ? "pictures" : name]: "unknown" };
    if (name === "samples") return { pictures: this.samplesLabel(value as string) };
    if (name === "weights" && typeof value === "string") return { weights: this.weightsLabel(value) };
    if (name === "options") return JSON.parse((value as string | null) ?? "{}") as FixedSettings;
    return { [name]: value ?? (settings ? "none" : "default") };
  }

  /** The number of pictures, if it tells them apart, else the first digits of their fingerprint. */
  private samplesLabel(hash: string): SettingScalar {
    const counts = new Map<string, number | undefined>();
    for (const { facts, pictures } of this.settings.values()) {
      const key = facts?.samples.hash ?? pictures;
      if (key !== undefined) counts.set(key, facts?.samples.count);
    }
    const known = [...counts.values()];
    const areApart = known.every((count) => count !== undefined) && new Set(known).size === known.length;
    return (areApart && counts.get(hash)) || hash.slice(0, 8);
  }

  /** The name of the file of weights, if it tells them apart, else the first digits of its hash. */
  private weightsLabel(hash: string): string {
    const files = new Map<string, string>();
    for (const { weights, weightsHash } of this.settings.values())
      if (weightsHash) files.set(weightsHash, basename((weights ?? "").replaceAll("\\", "/")));
    const areApart = new Set(files.values()).size === files.size;
    return areApart && files.get(hash) ? files.get(hash)! : hash.slice(0, 8);
  }

  /** The files whose content differs between runs of the table, with the first digits of their hash. */
  private codeLabel(settings: RunSettings): string {
    const filesOf = ({ facts, plugins = [] }: RunSettings) => facts?.code ?? plugins;
    const all = [...new Set([...this.settings.values()].map(filesOf))];
    const varies = ({ file, sha256 }: { file: string; sha256: string }): boolean =>
      all.some((files) => files.some((each) => each.file === file && each.sha256 !== sha256));
    if (filesOf(settings).length === 0) return "built-in";
    const words = filesOf(settings)
      .filter(varies)
      .map(({ file, sha256 }) => `${file}@${sha256.slice(0, 8)}`);
    return words.length > 0 ? words.join("+") : "other";
  }

  /** Which facts some runs of a row lack. */
  notes(dataset: string): string[] {
    const words: Readonly<Record<string, string>> = {
      samples: "their pictures",
      imports: "the files that their plug-ins import",
    };
    return Array.from(this.unknown)
      .filter(([name]) => !this.names.has(name) && words[name] !== undefined)
      .map(
        ([name, count]) =>
          `${withoutSlash(dataset)}: ${count === 1 ? "1 run" : `${count} runs`} of an earlier version did not record ${words[name]}; they share rows with runs that did, and may differ from these`,
      );
  }
}

/** The known values of each fact, and the number of runs in which it is unknown. */
function valuesIn(all: readonly Facts[]): Map<string, { known: Set<SettingScalar>; missing: number }> {
  const counts = new Map<Facts, number>();
  for (const facts of all) counts.set(facts, (counts.get(facts) ?? 0) + 1);
  const found = new Map<string, { known: Set<SettingScalar>; missing: number }>();
  for (const [facts, count] of counts)
    for (const [name, value] of Object.entries(facts)) {
      const own = found.get(name) ?? { known: new Set(), missing: 0 };
      found.set(name, own);
      if (value === undefined) own.missing += count;
      else own.known.add(value);
    }
  return found;
}

/** Entries of the settings that the runs of a cell have with other values. */
const OF_RUNS: ReadonlySet<string> = new Set([
  ...["testDomains", "trialSeed", "seed", "splitHash", "hash", "combination", "hparams", "hparamsSeed"],
  ...["data", "root", "cache", "weights", "device", "threads"],
]);

/** Whether two runs have the same identity at first sight: equal values are one object when they are read. */
function areAlike(some: RunSettings, others: RunSettings): boolean {
  for (const name in some) if (!OF_RUNS.has(name) && some[name as "steps"] !== others[name as "steps"]) return false;
  const isDraw = some.hparamsSeed !== 0;
  if (isDraw !== (others.hparamsSeed !== 0)) return false;
  return isDraw || some.hparams === others.hparams || JSON.stringify(some.hparams) === JSON.stringify(others.hparams);
}
