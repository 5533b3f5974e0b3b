/** Calls to be tried: every operator of native/ops.txt and every other function of the engine in turn, oddly called. */

import { readFileSync } from "node:fs";
import { parseLine } from "../../native/generate.js";
import type { SchemaArgument } from "../../src/engine/native.js";
import { call, schemas } from "../../src/engine/operator.js";
import * as ops from "../../src/engine/ops.generated.js";
import { keyedRandom, type Philox } from "../../src/engine/philox.js";
import { Tensor } from "../../src/engine/tensor.js";
import { EngineError } from "../../src/errors.js";
import { ENTRIES } from "./engine-entries.js";
import { Hostile, show } from "./hostile-values.js";
import { Maker, type NamedArguments, sampleOf } from "./operator-samples.js";

/** A call, and the text to make it again by hand. */
export interface Case {
  title: string;
  run: () => unknown;
}

type AnyFunction = (...args: unknown[]) => unknown;

const operators = readFileSync(new URL("../../native/ops.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.trim() !== "" && !line.startsWith("#"))
  .map((line) => {
    const { name, overload, method } = parseLine(line.trim());
    const [schema] = schemas(`${name}.${overload}`);
    return { full: overload === "" ? name : `${name}.${overload}`, method, schema };
  });
const entries = Object.entries(ENTRIES);

/** The case of a number: made from the seed and the number alone, so that it can be made again. */
export function makeCase(seed: number, index: number): Case {
  const random = keyedRandom(seed, "case", index);
  // One after the other, so that all are called equally often.
  const turn = index % (operators.length + entries.length);
  return turn < operators.length ? operatorCase(random, turn) : entryCase(random, turn - operators.length);
}

function operatorCase(random: Philox, turn: number): Case {
  const { full, method, schema } = operators[turn];
  const hostile = new Hostile(random, full);
  const given = startingPoint(hostile, full, schema.arguments);
  const changes = random.integer(4);
  for (let i = 0; i < changes; i++) change(hostile, schema.arguments, given);
  if (random.bernoulli(0.05)) delete given[hostile.pick(schema.arguments).name];
  const extra = random.bernoulli(0.03) ? [hostile.wrong()] : [];
  const text = [
    ...Object.entries(given).map(([name, value]) => `${name}=${show(value)}`),
    ...extra.map((x) => show(x)),
  ];
  if (random.bernoulli(0.5)) {
    const front = schema.arguments
      .slice(0, random.integer(schema.arguments.length + 1))
      .filter((argument) => !argument.keywordOnly)
      .map(({ name }) => name);
    const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !front.includes(name)));
    const args = [...front.map((name) => given[name]), ...extra, rest];
    return {
      title: `call ${full}(${text.join(", ")})`,
      run: () => call(full.includes(".") ? full : `${full}.`, ...args),
    };
  }
  const positional = schema.arguments.filter((argument) => !argument.keywordOnly).map(({ name }) => given[name]);
  const named = schema.arguments.filter((argument) => argument.keywordOnly).map(({ name }) => [name, given[name]]);
  if (named.length > 0) positional.push(Object.fromEntries(named));
  return { title: `${full}(${text.join(", ")})`, run: () => callMethod(method, [...positional, ...extra]) };
}

/** Arguments the operator takes, where they are known, or random ones of the right types. */
function startingPoint(hostile: Hostile, name: string, schema: readonly SchemaArgument[]): NamedArguments {
  const { random } = hostile;
  const sample = random.bernoulli(0.8) ? sampleOf(name, new Maker(random)) : undefined;
  if (sample) return sample;
  const chosen = schema.filter((argument) => !argument.hasDefault || random.bernoulli(0.5));
  return Object.fromEntries(chosen.map(({ name: key, type, length }) => [key, hostile.ofType(type, length)]));
}

/** Changes one argument: bends it, puts another's in its place, or a random one of the right or of a wrong type. */
function change(hostile: Hostile, schema: readonly SchemaArgument[], given: NamedArguments): void {
  const { name, type, length } = hostile.pick(schema);
  const how = hostile.random.uniform();
  try {
    if (how < 0.4) given[name] = hostile.bend(given[name]);
    else if (how < 0.5) given[name] = given[hostile.pick(schema).name];
    else if (how < 0.75) given[name] = hostile.ofType(type, length);
    else given[name] = hostile.wrong();
  } catch (error) {
    // Bending calls the engine itself, and reads arrays with getters that throw: what is refused is not bent.
    if (!(error instanceof EngineError || error instanceof TypeError)) throw error;
  }
}

/** The generated function, or the method on the first argument. */
function callMethod(name: string, args: unknown[]): unknown {
  const asFunction = (ops as unknown as Record<string, AnyFunction>)[name];
  if (asFunction) return asFunction(...args);
  const asMethod = (Tensor.prototype as unknown as Record<string, AnyFunction>)[name];
  return asMethod.apply(args[0], args.slice(1));
}

const TYPES = ["Tensor", "Tensor", "Tensor[]", "int", "int[]", "Scalar", "bool", "str", "ScalarType", "Device"];

function entryCase(random: Philox, turn: number): Case {
  const [name, entry] = entries[turn];
  const hostile = new Hostile(random, name);
  const args = Array.from({ length: random.integer(4) }, () =>
    random.bernoulli(0.6) ? hostile.ofType(hostile.pick(TYPES), 0) : hostile.wrong(),
  );
  return {
    title: `${name}(${args.map((value) => show(value)).join(", ")})`,
    run: () => (entry as AnyFunction)(...args),
  };
}
