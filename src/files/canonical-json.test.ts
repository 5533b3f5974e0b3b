import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { canonicalJson, shortHash } from "./canonical-json.js";

test("keys are sorted as text at every depth, whatever order they were put in", () => {
  const text = '{"10":0,"9":[{"a":1,"b":"é"}],"b":null}';
  expect(canonicalJson({ b: null, 9: [{ b: "é", a: 1 }], 10: 0 })).toBe(text);
  expect(canonicalJson(JSON.parse(text))).toBe(text);
});

test("numbers have JavaScript's text, -0 is 0, and a key without a value is left out", () => {
  expect(canonicalJson({ a: [1e21, 0.1, 1e-7, -0, 5.0], b: undefined })).toBe('{"a":[1e+21,0.1,1e-7,0,5]}');
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, () => 1, 1n, new Date(0), new Map(), new Float32Array(1)])(
  "%s has no canonical JSON and is refused",
  (value) => {
    expect(() => canonicalJson({ value: [value] })).toThrow(UsageError);
  },
);

test("the hash is the start of the SHA-256 of the text", () => {
  // printf '{"a":1}' | sha256sum
  expect(shortHash({ a: 1 })).toBe("015abd7f5cc57a2d");
});
