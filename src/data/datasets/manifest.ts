/**
 * A dataset from a manifest (`../manifest.ts`): pictures in any place, with labels and domains from a list.
 *
 * The order is the one that the same pictures would have in folders: by domain, class and path, not by line. So
 * shuffling the lines changes nothing, and a manifest of a benchmark gives the splits of the benchmark.
 */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DataError } from "../../errors.js";
import { byCodePoint } from "../code-point-order.js";
import { defineDataset, type PictureDomain } from "../dataset.js";
import { type ManifestEntry, readManifest } from "../manifest.js";
import { countOf, listNames, showName } from "../show-name.js";
import { similarNames } from "../similar-names.js";
import type { DomainSplit, SplitName } from "../split.js";

/** Classes in order: numerically if all are integers, otherwise by code point. */
function classesOf(entries: readonly ManifestEntry[]): string[] {
  const classes = [...new Set(entries.map(({ label }) => label))];
  const whole = classes.every((name) => /^\d{1,15}$/.test(name));
  return classes.sort(whole ? (a, b) => Number(a) - Number(b) || byCodePoint(a, b) : byCodePoint);
}

function checkFiles(source: string, folder: string, entries: readonly ManifestEntry[]): void {
  const missing = entries.filter(({ path }) => !isFile(resolve(folder, path)));
  if (missing.length === 0) return;
  const first = missing.slice(0, 3).map(({ line, path }) => `line ${line}: "${showName(path)}"`);
  throw new DataError(
    `manifest ${showName(source)}: ${countOf(missing.length, "picture")} of ${entries.length} not found (${first.join(", ")}${missing.length > 3 ? ", …" : ""}); paths start from the manifest's folder`,
  );
}

/** Whether a file exists. Returns false if the system does not allow the check, for example for a path below a file. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function splitOf(entries: readonly ManifestEntry[]): DomainSplit {
  const places = (part: SplitName): number[] => entries.flatMap(({ split }, i) => (split === part ? [i] : []));
  return { in: places("in"), out: places("out"), uda: places("uda") };
}

export const manifest = defineDataset({
  id: "manifest",
  title: "List of pictures",
  summary: "your own pictures, listed in a CSV or JSONL file with path, label, and optionally domain and split",
  paper: "none: cite where the pictures come from",
  licence: "that of the pictures",
  source: "one's own",
  layout: "a .csv or .jsonl file; paths in it start from its folder",
  needsRoot: true,
  options: {},
  protocol: { steps: 5001, evaluateEvery: 300 },
  open({ root: file, options }) {
    const { entries, notes: read } = readManifest(file);
    const root = dirname(resolve(file));
    checkFiles(file, root, entries);
    const classes = classesOf(entries);
    const notes = [...read, ...similarNames(classes)];
    const labels = new Map(classes.map((name, label) => [name, label]));
    const labelOf = ({ label }: ManifestEntry): number => labels.get(label) as number;
    const hasDomains = entries[0].domain !== undefined;
    const names = [...new Set(entries.map(({ domain = "all" }) => domain))].sort(byCodePoint);
    const sorted = names.map((name) =>
      entries
        .filter(({ domain = "all" }) => domain === name)
        .sort((a, b) => labelOf(a) - labelOf(b) || byCodePoint(a.path, b.path)),
    );
    const domains = sorted.map((each, i): PictureDomain => {
      const present = new Set(each.map(({ label }) => label));
      const missing = classes.filter((name) => !present.has(name));
      if (missing.length > 0)
        notes.push(
          `domain "${showName(names[i])}" has no pictures of ${countOf(missing.length, "class", "classes")} that other domains have: ${listNames(missing)}`,
        );
      return {
        name: names[i],
        count: each.length,
        labels: Int32Array.from(each, labelOf),
        files: each.map(({ path }) => path),
      };
    });
    if (!hasDomains)
      notes.push("there are no domains; methods that need them, and holding out a domain, need a domain column");
    else if (names.length === 1)
      notes.push(`there is only one domain, "${showName(names[0])}"; holding out a domain needs at least two`);
    if (classes.length === 1)
      notes.push(`there is only one class, "${showName(classes[0])}", so there is nothing to classify`);
    return {
      id: "manifest",
      title: "List of pictures",
      kind: "pictures",
      root,
      upright: true,
      hasDomains,
      inputShape: [3, 224, 224],
      augmentable: true,
      options,
      classes,
      domains,
      notes,
      ...(entries[0].split !== undefined && {
        givenSplit: new Map(sorted.map((each, i) => [names[i], splitOf(each)])),
      }),
    };
  },
});
