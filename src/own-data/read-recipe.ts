/** Reads `recipe.json` of a run folder, which may come from somebody else. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { readText } from "../files/open-file.js";
import { numberSchema, parseStored, type Schema, textsSchema, wholeSchema } from "../files/stored-json.js";
import { type Recipe, recipeFile } from "./recipe.js";

const domainsSchema = v.array(
  v.looseObject({ name: v.string("a name"), accuracy: numberSchema, count: wholeSchema }, "a domain"),
  "a list of domains",
);

const listOfTexts = v.array(textsSchema, "a list of lists of names");

const rowSchema = v.looseObject(
  {
    ...{ name: v.string("a name"), coefficient: numberSchema, domains: domainsSchema, mean: numberSchema },
    ...{ below: numberSchema, error: numberSchema, chosen: v.boolean("true or false") },
  },
  "a candidate",
);

const aloneSchema = v.looseObject({ name: v.string("a name"), domains: domainsSchema, mean: numberSchema });

const confidenceSchema = v.looseObject({
  ...{ temperature: numberSchema, fitted: numberSchema, errorAtOne: numberSchema },
  errorAtFitted: v.nullable(numberSchema),
});

const recipeSchema: Schema<Recipe> = v.looseObject({
  format: v.literal(1, "1"),
  by: v.picklist(["held-out domains", "validation"], '"held-out domains" or "validation"'),
  folds: listOfTexts,
  nearCopies: listOfTexts,
  c: numberSchema,
  strengths: v.array(v.looseObject({ c: numberSchema, mean: numberSchema }), "a list of strengths"),
  candidates: v.pipe(v.array(rowSchema, "a list of candidates"), v.minLength(1, "a list of at least one candidate")),
  alone: v.optional(v.array(aloneSchema, "a list of parts")),
  coefficient: numberSchema,
  reason: v.string("a text"),
  nested: v.array(v.looseObject({ domains: textsSchema, coefficient: numberSchema }), "a list of choices"),
  withheld: v.optional(
    v.array(
      v.looseObject({ coefficient: numberSchema, accuracy: numberSchema, count: wholeSchema }),
      "a list of accuracies",
    ),
  ),
  confidence: v.optional(confidenceSchema),
  trials: v.optional(wholeSchema),
  steps: wholeSchema,
  seconds: v.record(v.string(), numberSchema, "seconds by stage"),
});

/** How the recipe of a run was chosen; null if its folder does not say. */
export function readRecipe(folder: string): Recipe | null {
  const path = join(folder, recipeFile);
  if (!existsSync(path)) return null;
  return parseStored(recipeSchema, readText(path), { path, what: "the recipe of a run" });
}
