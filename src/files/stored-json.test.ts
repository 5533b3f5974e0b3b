import * as v from "valibot";
import { expect, test } from "vitest";
import { nameSchema, namesSchema, openObject, parseStored, wholeSchema } from "./stored-json.js";

const entries = {
  name: nameSchema,
  seed: wholeSchema,
  domains: namesSchema,
  note: v.optional(v.string("a text")),
  root: v.nullish(v.string("a path")),
  plugin: v.optional(v.object({ id: nameSchema })),
};

const good = { name: "erm", seed: 1, domains: ["a", "b"], other: { kept: [1] } };

test("an open object is what valibot's loose object is, and its problems are described alike", () => {
  const read = (schema: v.GenericSchema, value: unknown): unknown => {
    try {
      return parseStored(schema, JSON.stringify(value), { path: "x.json", what: "a test" });
    } catch (error) {
      return (error as Error).message;
    }
  };
  const { seed: _, ...without } = good;
  for (const value of [
    good,
    { ...good, note: "n", root: null, plugin: { id: "p", more: 1 } },
    { ...good, plugin: { id: "" } },
    { ...good, name: "" },
    { ...good, seed: -1 },
    { ...good, note: null },
    { ...good, domains: ["a", 2] },
    { ...good, domains: ["a", "a"] },
    without,
    {},
    [],
    null,
    3,
  ])
    expect(read(openObject(entries), value)).toEqual(read(v.looseObject(entries), value));
  expect(read(openObject(entries), without)).toBe('x.json: not a test: "seed" is missing');
});

test("an open object is not copied", () => {
  const value = structuredClone(good);
  expect(v.parse(openObject(entries), value)).toBe(value);
});
