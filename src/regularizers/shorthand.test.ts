import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { parseMethodName } from "./shorthand.js";

const algorithms = [
  { id: "erm", title: "ERM" },
  { id: "coral", title: "CORAL" },
  { id: "mixup", title: "Mixup" },
  { id: "group-dro", title: "GroupDRO" },
  { id: "vrex", title: "V-REx" },
  { id: "and-mask", title: "AND-mask" },
  { id: "erm-plus-plus", title: "ERM++" },
];
const parse = (name: string) => parseMethodName(name, { algorithms });

test.each([
  ["ERM", { algorithm: "erm", regularizers: [] }],
  ["ERM-NU", { algorithm: "erm", regularizers: ["nuclear-norm"] }],
  ["mixup-nu", { algorithm: "mixup", regularizers: ["nuclear-norm"] }],
  ["SWAD", { averaging: "swad", algorithm: "erm", regularizers: [] }],
  ["SWAD-NU", { averaging: "swad", algorithm: "erm", regularizers: ["nuclear-norm"] }],
  ["SWAD-CORAL", { averaging: "swad", algorithm: "coral", regularizers: [] }],
  ["SWAD-Mixup-NU", { averaging: "swad", algorithm: "mixup", regularizers: ["nuclear-norm"] }],
  ["NU", { algorithm: "erm", regularizers: ["nuclear-norm"] }],
  ["GroupDRO", { algorithm: "group-dro", regularizers: [] }],
  ["group-dro-nu", { algorithm: "group-dro", regularizers: ["nuclear-norm"] }],
  ["V-REx-NU", { algorithm: "vrex", regularizers: ["nuclear-norm"] }],
  ["AND-mask", { algorithm: "and-mask", regularizers: [] }],
  ["ERM++", { algorithm: "erm-plus-plus", regularizers: [] }],
  ["SWAD-ERM++-NU", { averaging: "swad", algorithm: "erm-plus-plus", regularizers: ["nuclear-norm"] }],
  ["erm-nuclear-norm", { algorithm: "erm", regularizers: ["nuclear-norm"] }],
  ["erm-centred-nuclear-norm", { algorithm: "erm", regularizers: ["centred-nuclear-norm"] }],
  ["ERM-NU-FRO", { algorithm: "erm", regularizers: ["nuclear-norm", "frobenius-norm"] }],
])("%s is understood", (name, expected) => {
  expect(parse(name)).toEqual(expected);
});

test("an algorithm whose name looks like a combination is parsed as that algorithm", () => {
  const odd = [...algorithms, { id: "swad-nu", title: "SWAD-NU" }];
  expect(parseMethodName("SWAD-NU", { algorithms: odd })).toEqual({ algorithm: "swad-nu", regularizers: [] });
});

test("an average may have hyphens in its name", () => {
  const averagings = [{ id: "wise-ft", title: "WiSE-FT" }];
  const expected = { averaging: "wise-ft", algorithm: "coral", regularizers: ["nuclear-norm"] };
  expect(parseMethodName("WiSE-FT-CORAL-NU", { algorithms, averagings })).toEqual(expected);
});

test("an unknown algorithm is an error that suggests the nearest name", () => {
  expect(() => parse("SWAD-CORLA-NU")).toThrow(UsageError);
  expect(() => parse("SWAD-CORLA-NU")).toThrow(/unknown algorithm "CORLA": did you mean "coral"\?/);
  expect(() => parse("")).toThrow(/unknown algorithm ""/);
  expect(() => parse("-")).toThrow(UsageError);
});
