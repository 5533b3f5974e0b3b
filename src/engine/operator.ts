/** Calls any operator by name, for operators without a method: `call("aten::logit", { self: x, eps: 1e-6 })`. */

import { closestName } from "../closest-name.js";
import { EngineError } from "../errors.js";
import { DTYPES } from "./dtype.js";
import { loadNative, native, resolveOperator } from "./load.js";
import type { Schema, SchemaArgument } from "./native.js";
import { RandomGenerator } from "./random.js";
import { Tensor } from "./tensor.js";
import { handle } from "./wrap.js";

interface Resolved {
  id: number;
  schema: Schema;
}

const resolved = new Map<string, Resolved[]>();

/**
 * Returns the candidates for `aten::add` (all overloads) or `aten::add.Tensor` (this overload; `aten::sum.` is the
 * unnamed overload).
 */
function candidates(name: string): Resolved[] {
  const known = resolved.get(name);
  if (known) return known;
  const qualified = name.includes("::") ? name : `aten::${name}`;
  const [base, overload] = qualified.split(".");
  const all = loadNative().overloads(base);
  if (all.length === 0) throw new EngineError(`this libtorch has no operator ${base}`, base);
  if (overload !== undefined && !all.includes(overload)) {
    const near = closestName(overload, all);
    const listed = all.map((each) => (each === "" ? "(unnamed)" : each)).join(", ");
    throw new EngineError(
      `${base} has no overload "${overload}"${near ? `: did you mean "${near}"?` : ":"} (there are: ${listed})`,
      base,
    );
  }
  const found = (overload === undefined ? all : [overload]).map((each) => {
    const id = resolveOperator(base, each);
    return { id, schema: native.schema(id) };
  });
  resolved.set(name, found);
  return found;
}

/** Returns the schemas of an operator. */
export function schemas(name: string): Schema[] {
  return candidates(name).map(({ schema }) => schema);
}

/**
 * Calls an operator with positional arguments, keyword arguments in a plain object at the end, or both. If the name
 * contains no overload, the first overload that matches the types of the arguments is called. Overloads that would
 * convert a number to a tensor have lower priority.
 *
 * Private operators of libtorch (`aten::_stack`) are rejected: some of them end the process on arguments that their
 * public callers would have checked. `callPrivate` also calls private operators.
 */
export function call(name: string, ...args: unknown[]): unknown {
  const [base] = name.split(".");
  if (/^(aten::)?_[^_]/.test(base))
    throw new EngineError(
      `${base} is private to libtorch and does not check its arguments: use its public form, or callPrivate if you know what it takes`,
      base,
    );
  return callPrivate(name, ...args);
}

/** Calls any operator, including those that do not check their arguments. Invalid arguments may end the process. */
export function callPrivate(name: string, ...args: unknown[]): unknown {
  const last = args.at(-1);
  const keywords = isPlainObject(last) ? (args.pop() as Record<string, unknown>) : {};
  const { id, schema, given } = choose(candidates(name), args, keywords);
  return wrapReturns(schema, native.call(id, ...convert(schema, given)), given);
}

interface Chosen extends Resolved {
  /** The arguments in the order of the schema, undefined if not given. */
  given: unknown[];
}

function choose(options: readonly Resolved[], args: unknown[], keywords: Record<string, unknown>): Chosen {
  if (options.length === 1) {
    const [{ schema }] = options;
    const given = arrange(schema, args, keywords);
    if (typeof given === "string") throw new EngineError(`${schema.name}: ${given}. It is ${schema.text}`, schema.name);
    return { ...options[0], given };
  }
  const arranged = options.flatMap((option) => {
    const given = arrange(option.schema, args, keywords);
    return typeof given === "string" ? [] : [{ ...option, given }];
  });
  const fitting = (numbersAsTensors: boolean) =>
    arranged.find(({ schema, given }) =>
      schema.arguments.every((argument, i) => fits(argument, given[i], numbersAsTensors)),
    );
  const chosen = fitting(false) ?? fitting(true);
  if (chosen) return chosen;
  const named = Object.entries(keywords).map(([key, value]) => `${key}: ${kindOf(value)}`);
  const [base] = options[0].schema.name.split(".");
  throw new EngineError(
    `${base}: no overload takes (${[...args.map(kindOf), ...named].join(", ")}). There are:\n` +
      options.map(({ schema }) => `  ${schema.text}`).join("\n"),
    base,
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/**
 * Returns the arguments in the order of the schema, undefined if not given, or a message that describes the problem.
 */
function arrange(schema: Schema, args: unknown[], keywords: Record<string, unknown>): unknown[] | string {
  const positional = schema.arguments.filter((argument) => !argument.keywordOnly).length;
  if (args.length > positional) return `takes ${positional} positional arguments, got ${args.length}`;
  const unknown = Object.keys(keywords).find((key) => !schema.arguments.some((argument) => argument.name === key));
  if (unknown !== undefined) return `has no argument "${unknown}"`;
  const twice = schema.arguments.find((argument, i) => i < args.length && argument.name in keywords);
  if (twice) return `got "${twice.name}" twice`;
  const given = schema.arguments.map((argument, i) => (i < args.length ? args[i] : keywords[argument.name]));
  const missing = schema.arguments.find((argument, i) => given[i] === undefined && !argument.hasDefault);
  return missing ? `the argument "${missing.name}" (${missing.type}) is missing` : given;
}

/** Converts the arguments for the addon. The addon itself checks values, such as a fraction for an integer. */
function convert(schema: Schema, given: readonly unknown[]): unknown[] {
  const written = new Set(schema.returns.map(({ argument }) => argument));
  return schema.arguments.map(({ name, type }, i) => {
    const value = written.has(i) && isNumber(given[i]) ? MISFIT : toNative(type, given[i]);
    if (value !== MISFIT) return value;
    const what = `the argument "${name}" should be ${type}, got ${kindOf(given[i])}`;
    throw new EngineError(`${schema.name}: ${what}. It is ${schema.text}`, schema.name);
  });
}

const isNumber = (value: unknown): boolean => ["number", "boolean", "bigint"].includes(typeof value);

const MISFIT = Symbol("not of the schema's type");

/** Tensors and generators are numbers in the addon, so they must not be confused with actual numbers. */
function toNative(type: string, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (/^Tensor\??$/.test(type)) {
    if (value instanceof Tensor) return handle(value);
    // An array with one number takes part in arithmetic without affecting the result's dtype.
    return isNumber(value) ? [value] : MISFIT;
  }
  if (type.includes("Tensor")) {
    if (!Array.isArray(value)) return MISFIT;
    const items = Array.from(value, (item) => {
      if (type.includes("Tensor?") && (item === null || item === undefined)) return null;
      return item instanceof Tensor ? handle(item) : MISFIT;
    });
    return items.includes(MISFIT) ? MISFIT : items;
  }
  if (type.startsWith("Generator")) return value instanceof RandomGenerator ? value.id : MISFIT;
  return value instanceof Tensor || value instanceof RandomGenerator ? MISFIT : value;
}

/** Returns true if a value matches the type of an argument, to select an overload. */
function fits({ type, length, hasDefault }: SchemaArgument, value: unknown, numbersAsTensors: boolean): boolean {
  if (value === undefined) return hasDefault;
  if (type.endsWith("?")) {
    return (
      value === null || fits({ type: type.slice(0, -1), length, hasDefault } as SchemaArgument, value, numbersAsTensors)
    );
  }
  if (type.endsWith("[]")) {
    const element = { type: type.slice(0, -2), length: 0, hasDefault: false } as SchemaArgument;
    // One number can be passed for a list of fixed length.
    if (!Array.isArray(value)) return length > 0 && fits(element, value, false);
    return value.every((item) => fits(element, item, false));
  }
  switch (type) {
    case "Tensor":
      return value instanceof Tensor || (numbersAsTensors && isNumber(value));
    case "Generator":
      return value instanceof RandomGenerator;
    case "int":
    case "SymInt":
      return Number.isInteger(value) || typeof value === "bigint";
    case "float":
      return typeof value === "number";
    case "bool":
      return typeof value === "boolean";
    case "Scalar":
    case "number":
      return isNumber(value);
    case "ScalarType":
      return typeof value === "string" && (value in DTYPES || value === "complex128");
    case "MemoryFormat":
      return value === "contiguous" || value === "channels_last" || value === "preserve";
    case "Device":
      return typeof value === "string" && /^(cpu|cuda|meta)(:\d+)?$/.test(value);
    default:
      return typeof value === "string";
  }
}

function kindOf(value: unknown): string {
  if (value instanceof Tensor) return value.describe();
  if (value instanceof RandomGenerator) return "a generator";
  if (Array.isArray(value)) return "an array";
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function wrapReturns(schema: Schema, result: unknown, given: readonly unknown[]): unknown {
  const wrap = (type: string, argument: number, value: unknown): unknown => {
    const target = argument >= 0 ? given[argument] : undefined;
    // Return the tensor that the operator wrote to. Its shape may have changed: t_, resize_, out=.
    if (target instanceof Tensor) return target.clearShapeCache();
    if (!type.includes("Tensor") || value === null) return value;
    return Array.isArray(value) ? value.map((item) => new Tensor(item)) : new Tensor(value as number);
  };
  if (schema.returns.length === 0) return undefined;
  if (schema.returns.length === 1) return wrap(schema.returns[0].type, schema.returns[0].argument, result);
  return schema.returns.map(({ type, argument }, i) => wrap(type, argument, (result as unknown[])[i]));
}
