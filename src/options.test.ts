import { expect, test } from "vitest";
import { UsageError } from "./errors.js";
import { boolean, defaultsOf, list, number, option, readOptions, text, whole, word } from "./options.js";

const options = {
  samples: option(200, "readings in each place"),
  duplicates: option("", "a file, or none"),
  layout: option(word("flat", "deep"), "how files lie", { default: "flat" }),
  queue: option(text, "the queue"),
};

test("values are read from text or as they are, and the others have their defaults", () => {
  const read = readOptions("dataset sensors", options, { samples: "30", queue: 7 });
  expect(read).toEqual({ samples: 30, duplicates: "", layout: "flat", queue: "7" });
  expect(readOptions("x", options, { duplicates: "" }, { usual: { layout: "deep" } }).layout).toBe("deep");
  expect(defaultsOf(options)).toEqual({ samples: 200, duplicates: "", layout: "flat" });
});

test.each([
  ['unknown option of dataset sensors "sample": did you mean "samples"?', { sample: 1 }],
  ['data.samples: expected a number, got "many"', { samples: "many" }],
  ['unknown data.layout "flta": did you mean "flat"? (known: deep, flat)', { layout: "flta" }],
  ['data.queue: expected text, got ""', { queue: "" }],
])("%s", (message, given) => {
  const read = () => readOptions("dataset sensors", options, given, { prefix: "data." });
  expect(read).toThrow(UsageError);
  expect(read).toThrow(message);
});

test.each([
  [number(), "a number", ["1e-3", 0.001], [" ", "1,5", Number.NaN, "Infinity"]],
  [number({ least: 0, below: 1 }), "a number from 0 to below 1", ["0", 0], [1, -1]],
  [number({ above: 0, most: 100 }), "a number above 0 to 100", [100, 100], [0, 101]],
  [whole(1), "an integer of at least 1", ["3", 3], [0, 2.5, "x", true]],
  [boolean, "true or false", ["true", true], ["yes", 1]],
  [list, "a name, or comma-separated names", ["a, b", ["a", "b"]], [3]],
])("a kind describes what it accepts and refuses other values: %o", (kind, accepts, [given, value], refused) => {
  expect(kind.accepts).toBe(accepts);
  expect(kind.read("x", given)).toEqual(value);
  for (const each of refused) expect(() => kind.read("x", each)).toThrow(`x: expected ${accepts}`);
});

test("a NUL in a text is refused: it would end up in a path", () => {
  expect(() => text.read("root", "a\0b")).toThrow('root: expected text without NUL characters, got "a\\u0000b"');
});
