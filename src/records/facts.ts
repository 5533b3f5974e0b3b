/**
 * The facts of a run that its id does not have: the samples it was trained on, the code of plug-ins with every file
 * that they import, and options that only some draws of a search use. They are a field of their own in `settings.json`,
 * so that ids stay what they are. Runs of earlier versions lack them.
 */

import * as v from "valibot";
import { shortHash } from "../files/canonical-json.js";
import { nameSchema, type Schema, scalarsSchema, wholeSchema } from "../files/stored-json.js";
import type { FixedSettings } from "./fixed-settings.js";

/** The samples of a dataset: how many there are, and a fingerprint of them and their labels. */
export interface SampleFacts {
  readonly count: number;
  readonly hash: string;
}

/** A file of a plug-in, or one that it imports. */
export interface CodeFile {
  /** Its path relative to the folder of the plug-in, or the name and version of a package. */
  readonly file: string;
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
}

export interface RunFacts {
  readonly samples: SampleFacts;
  /** The hash of the split that came with the samples, if there is one. */
  readonly split?: string;
  /** Empty if all parts of the run are built in. */
  readonly code: readonly CodeFile[];
  /** Options of an optimizer or a schedule that a search draws. Draws of another one do not use them. */
  readonly options?: FixedSettings;
}

const codeSchema = v.array(v.looseObject({ file: nameSchema, sha256: nameSchema }), "a list of { file, sha256 }");

/** The schema of the facts in `settings.json`. */
export const factsSchema: Schema<RunFacts> = v.looseObject({
  samples: v.looseObject({ count: wholeSchema, hash: nameSchema }, "{ count, hash }"),
  split: v.optional(nameSchema),
  code: codeSchema,
  options: v.optional(scalarsSchema),
});

/** A short text that equal facts share. Names of files do not count, only their content. */
export const factsDigest = ({ samples, split, code, options }: RunFacts): string =>
  shortHash({ samples: samples.hash, split, code: code.map(({ sha256 }) => sha256).sort(), options });

/** Whether two runs have the same facts, as far as they are known. */
export const areSameFacts = (some: RunFacts | undefined, others: RunFacts | undefined): boolean =>
  some === undefined || others === undefined || factsDigest(some) === factsDigest(others);

/** What differs between the facts of two runs, as text: `the pictures (1,120 before, 560 now)`. */
export function factsChange(before: RunFacts, now: RunFacts): string {
  const count = ({ samples }: RunFacts): string => samples.count.toLocaleString("en-US");
  const isNew = ({ file, sha256 }: CodeFile): boolean =>
    before.code.find((each) => each.file === file)?.sha256 !== sha256;
  const files = now.code.filter(isNew).map(({ file }) => file);
  const gone = before.code.filter(({ file }) => !now.code.some((each) => each.file === file)).map(({ file }) => file);
  return [
    ...(before.samples.hash === now.samples.hash ? [] : [`the samples (${count(before)} before, ${count(now)} now)`]),
    ...(before.split === now.split ? [] : ["the split of the samples"]),
    ...(files.length + gone.length > 0 ? [`the code of a plug-in (${[...files, ...gone].join(", ")})`] : []),
    ...(shortHash(before.options ?? {}) === shortHash(now.options ?? {}) ? [] : ["the options of searched parts"]),
  ].join(" and ");
}
