/**
 * Finds pictures with identical bytes. Across domains, duplicates leak a held-out domain into training; across classes,
 * one label must be wrong.
 *
 * Files are first compared by size and a hash of their first and last bytes, which are already known. Only matching
 * files are hashed completely.
 */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { openToRead } from "../files/open-file.js";
import { groupBy } from "../group-by.js";
import type { FileFacts, PicturePlace } from "./inspect-files.js";

export interface Duplicates {
  /** Groups of equal pictures in at least two domains. */
  readonly acrossDomains: readonly (readonly PicturePlace[])[];
  /** Groups within a domain, in at least two classes. */
  readonly acrossClasses: readonly (readonly PicturePlace[])[];
  /** Groups within one domain and class. */
  readonly withinClass: readonly (readonly PicturePlace[])[];
}

const grouped = <T>(items: readonly T[], keyOf: (item: T) => string): T[][] =>
  [...groupBy(items, keyOf).values()].filter((group) => group.length > 1);

/** The SHA-256 of a file; a unique value if it cannot be read, so that it equals no other. */
async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(path, { fd: openToRead(path) }), hash);
    return hash.digest("hex");
  } catch {
    return `unread:${path}`;
  }
}

/** Finds equal pictures. Empty files are skipped, because they are reported as empty. */
export async function findDuplicates(root: string, facts: readonly FileFacts[]): Promise<Duplicates> {
  const found = {
    acrossDomains: [] as FileFacts[][],
    acrossClasses: [] as FileFacts[][],
    withinClass: [] as FileFacts[][],
  };
  const sameFingerprint = grouped(
    facts.filter(({ bytes }) => bytes > 0),
    ({ fingerprint }) => fingerprint,
  );
  for (const candidates of sameFingerprint) {
    const hashes = new Map<FileFacts, string>();
    for (const each of candidates) hashes.set(each, await hashOf(resolve(root, each.file)));
    for (const group of grouped(candidates, (each) => hashes.get(each) as string)) {
      const spread = (key: "domain" | "label"): boolean => group.some((each) => each[key] !== group[0][key]);
      const kind = spread("domain") ? "acrossDomains" : spread("label") ? "acrossClasses" : "withinClass";
      found[kind].push(group);
    }
  }
  const places = (groups: FileFacts[][]): PicturePlace[][] =>
    groups.map((group) => group.map(({ domain, label, file }) => ({ domain, label, file })));
  return {
    acrossDomains: places(found.acrossDomains),
    acrossClasses: places(found.acrossClasses),
    withinClass: places(found.withinClass),
  };
}
