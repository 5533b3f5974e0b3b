/** Any operator by name, for those that have no method: `call("aten::logit", { self: x, eps: 1e-6 })`. */

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

/** The candidates for `aten::add` (all overloads) or `aten::add.Tensor` (that one). */
function candidates(name: string): Resolved[] {
  const known = resolved.get(name);
  if (known) return known;
  const qualified = name.includes("::") ? name : `aten::${name}`;
  const [base, overload] = qualified.split(".");
  const overloads = overload === undefined ? loadNative().overloads(base) : [overload];
  if (overloads.length === 0) throw new EngineError(`this libtorch has no operator ${qualified}`, qualified);
  const found = overloads.map((each) => {
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
 * the name, the first overload that takes the arguments is used.
 */
export function call(name: string, ...args: unknown[]): unknown {
  const last = args.at(-1);
  const keywords = isPlainObject(last) ? (args.pop() as Record<string, unknown>) : {};
  const options = candidates(name);
  let failure: unknown;
  for (const { id, schema } of options) {
    const values = arrange(schema, args, keywords);
    if (typeof values === "string") {
      failure ??= new EngineError(`${schema.name}: ${values}. It is ${schema.text}`, schema.name);
      continue;
    }
    try {
      return wrapReturns(schema, native.call(id, ...values), args[0] ?? keywords.self, values);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The arguments in the schema's order, or what is wrong with them. */
function arrange(schema: Schema, args: unknown[], keywords: Record<string, unknown>): unknown[] | string {
  const positional = schema.arguments.filter((argument) => !argument.keywordOnly).length;
  if (args.length > positional) return `takes ${positional} positional arguments, got ${args.length}`;
  const unknown = Object.keys(keywords).find((key) => !schema.arguments.some((argument) => argument.name === key));
  if (unknown !== undefined) return `has no argument "${unknown}"`;
  const twice = schema.arguments.findIndex((argument, i) => i < args.length && argument.name in keywords);
  if (twice >= 0) return `got "${schema.arguments[twice].name}" twice`;
  const values = schema.arguments.map((argument, i) =>
    toNative(argument.type, i < args.length ? args[i] : keywords[argument.name]),
  );
  const wrong = schema.arguments.find((argument, i) => values[i] === undefined && !argument.hasDefault);
  return wrong ? `the argument "${wrong.name}" (${wrong.type}) is missing` : values;
}

function toNative(type: string, value: unknown): unknown {
  if (value instanceof Tensor) {
    // A tensor where a number is expected would pass its handle as the number.
    return type.includes("Tensor") ? handle(value) : Number.NaN;
  }
  if (value instanceof Generator) return value.id;
  if (Array.isArray(value)) return value.map((item) => toNative(type, item));
  if (typeof value === "number" && /^Tensor\??$/.test(type)) return [value];
  if (typeof value === "number" && type.includes("Tensor")) return Number.NaN;
  return value;
}

function wrapReturns(schema: Schema, result: unknown, self: unknown, given: unknown[]): unknown {
  const wrap = (type: string, argument: number, value: unknown): unknown => {
    if (argument >= 0 && value === given[argument]) return self;
    if (!type.includes("Tensor") || value === null) return value;
    return Array.isArray(value) ? value.map((item) => new Tensor(item)) : new Tensor(value as number);
  };
  if (schema.returns.length === 0) return undefined;
  if (schema.returns.length === 1) return wrap(schema.returns[0].type, schema.returns[0].argument, result);
  return schema.returns.map(({ type, argument }, i) => wrap(type, argument, (result as unknown[])[i]));
}
