/** Any operator by name, for those that have no method: `call("aten::logit", { self: x, eps: 1e-6 })`. */

import { closestName } from "../closest-name.js";
import { EngineError } from "../errors.js";
import { loadNative, native, resolveOperator } from "./load.js";
import type { Schema } from "./native.js";
import { Generator } from "./random.js";
import { Tensor } from "./tensor.js";
import { handle } from "./wrap.js";

interface Resolved {
  id: number;
  schema: Schema;
}

const resolved = new Map<string, Resolved[]>();

/** The candidates for `aten::add` (all overloads) or `aten::add.Tensor` (that one; `aten::sum.` is the unnamed one). */
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

/** The schemas under an operator's name. */
export function schemas(name: string): Schema[] {
  return candidates(name).map(({ schema }) => schema);
}

/**
 * Calls an operator with positional arguments, keyword arguments as a last plain object, or both. Without an overload in
 * the name, the first overload that takes the arguments is used; when none does, the error is that of the first one
 * whose arguments were of the right types, or of the first.
 */
export function call(name: string, ...args: unknown[]): unknown {
  const last = args.at(-1);
  const keywords = isPlainObject(last) ? (args.pop() as Record<string, unknown>) : {};
  let mismatch: EngineError | undefined;
  let failure: unknown;
  for (const { id, schema } of candidates(name)) {
    const given = arrange(schema, args, keywords);
    const values = typeof given === "string" ? given : convert(schema, given);
    if (typeof given === "string" || typeof values === "string") {
      mismatch ??= new EngineError(`${schema.name}: ${values}. It is ${schema.text}`, schema.name);
      continue;
    }
    try {
      return wrapReturns(schema, native.call(id, ...values), given);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure ?? mismatch;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The arguments in the schema's order, undefined where not given; or what is wrong with them. */
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

/** The arguments as the addon takes them, or the first that is of the wrong type. */
function convert(schema: Schema, given: readonly unknown[]): unknown[] | string {
  const values: unknown[] = [];
  const written = new Set(schema.returns.map(({ argument }) => argument));
  for (const [i, { name, type }] of schema.arguments.entries()) {
    const value = written.has(i) && isNumber(given[i]) ? MISFIT : toNative(type, given[i]);
    if (value === MISFIT) return `the argument "${name}" should be ${type}, got ${kindOf(given[i])}`;
    values.push(value);
  }
  return values;
}

const isNumber = (value: unknown): boolean => ["number", "boolean", "bigint"].includes(typeof value);

const MISFIT = Symbol("not of the schema's type");

/** Tensors and generators are numbers to the addon: they must not pass for numbers, nor numbers for them. */
function toNative(type: string, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (/^Tensor\??$/.test(type)) {
    if (value instanceof Tensor) return handle(value);
    // In an array of one, a number takes part in arithmetic without deciding the dtype.
    return isNumber(value) ? [value] : MISFIT;
  }
  if (type.includes("Tensor")) {
    if (!Array.isArray(value)) return MISFIT;
    const optional = type.includes("Tensor?") || type.includes("Optional[Tensor]");
    const items = Array.from(value, (item) => {
      if (optional && (item === null || item === undefined)) return null;
      return item instanceof Tensor ? handle(item) : MISFIT;
    });
    return items.includes(MISFIT) ? MISFIT : items;
  }
  if (type.startsWith("Generator")) return value instanceof Generator ? value.id : MISFIT;
  return value instanceof Tensor || value instanceof Generator ? MISFIT : value;
}

function kindOf(value: unknown): string {
  if (value instanceof Tensor) return `a tensor, ${value.describe()}`;
  if (value instanceof Generator) return "a generator";
  if (Array.isArray(value)) return "an array of other things";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function wrapReturns(schema: Schema, result: unknown, given: readonly unknown[]): unknown {
  const wrap = (type: string, argument: number, value: unknown): unknown => {
    const target = argument >= 0 ? given[argument] : undefined;
    // What an operator wrote into comes back as itself. It may have another shape now: t_, resize_, out=.
    if (target instanceof Tensor) return target.forgetShape();
    if (!type.includes("Tensor") || value === null) return value;
    return Array.isArray(value) ? value.map((item) => new Tensor(item)) : new Tensor(value as number);
  };
  if (schema.returns.length === 0) return undefined;
  if (schema.returns.length === 1) return wrap(schema.returns[0].type, schema.returns[0].argument, result);
  return schema.returns.map(({ type, argument }, i) => wrap(type, argument, (result as unknown[])[i]));
}
