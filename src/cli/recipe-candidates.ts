/** What each interpolation between the starting and the fine-tuned weights of a run gets right, in a file of its folder. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Judged, JudgedLogits } from "../analysis/judged.js";
import { readText } from "../files/open-file.js";
import { COEFFICIENTS } from "../own-data/recipe.js";
import { judgeCoefficients } from "../training/judge-coefficients.js";
import type { EndedRun } from "../training/train.js";

const CANDIDATES_FILE = "candidates.json";

interface Candidates {
  readonly coefficients: number[];
  /** The pictures with their predictions, for each coefficient. */
  readonly judged: StoredJudged[][];
}

/** Files of earlier versions have no logits. */
type StoredJudged = Judged & Partial<JudgedLogits>;

/** Evaluates the coefficients of a run, except 0, on the pictures of these domains. */
export async function judgeCandidates(ended: EndedRun, domains: readonly string[]): Promise<void> {
  const coefficients = COEFFICIENTS.slice(1);
  const judged = await judgeCoefficients(ended, domains, coefficients);
  ended.folder.writeJson(CANDIDATES_FILE, { format: 1, coefficients, judged });
}

export function readCandidates(folder: string): Candidates | undefined {
  const file = join(folder, CANDIDATES_FILE);
  return existsSync(file) ? JSON.parse(readText(file)) : undefined;
}
