import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { oneOf, realNumber, someOf, wholeNumber } from "./parse-options.js";

test("values that fit are read", () => {
  expect(wholeNumber("--steps")("300")).toBe(300);
  expect(realNumber("--weight")("1e-3")).toBe(0.001);
  expect(oneOf("init", ["a", "b"])("b")).toBe("b");
  expect(someOf("penalty", ["a", "b", "c"])("a, c")).toEqual(["a", "c"]);
});

test.each([
  ['--steps: expected an integer of at least 1, got "0"', () => wholeNumber("--steps", 1)("0")],
  ['--steps: expected an integer of at least 0, got "2.5"', () => wholeNumber("--steps")("2.5")],
  ['--steps: expected an integer of at least 0, got ""', () => wholeNumber("--steps")("")],
  ['--rate: expected a number above 0, got "0"', () => realNumber("--rate", { above: 0 })("0")],
  ['--p: expected a number from 0 to 1, got "1.5"', () => realNumber("--p", { least: 0, most: 1 })("1.5")],
  ['--p: expected a number, got "Infinity"', () => realNumber("--p")("Infinity")],
  [
    'unknown start "unifrom": did you mean "uniform"? (known: small, uniform)',
    () => oneOf("start", ["uniform", "small"])("unifrom"),
  ],
  ['unknown penalty "": did you mean "a"? (known: a)', () => someOf("penalty", ["a"])("a,")],
])("%s", (message, call) => {
  expect(call).toThrow(UsageError);
  expect(call).toThrow(message);
});
