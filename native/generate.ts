/**
 * Writes src/engine/ops.generated.ts: a typed method or function for each operator in native/ops.txt, from the schemas
 * in libtorch. Run it with `npm run generate` after adding a line; a test compares the two.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { loadNative } from "../src/engine/load.js";
import type { Native, Schema, SchemaArgument } from "../src/engine/native.js";

/**
 * Parses `aten::sum.dim_IntList as sumOver`. By default the name of the method is that of the operator in camelCase.
 */
export function parseLine(line: string): { name: string; overload: string; method: string } {
  const match = /^(\w+::(\w+))(?:\.(\w+))?(?: as (\w+))?$/.exec(line);
  if (!match) throw new Error(`native/ops.txt: cannot read the line "${line}"; expected "aten::op.overload as name"`);
  const [, name, base, overload = "", alias] = match;
  return { name, overload, method: alias ?? camelCase(base) };
}

/**
 * Converts `index_select` to `indexSelect`. Leading and trailing underscores are kept, because a trailing one means in
 * place.
 */
function camelCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

const SCALAR_TYPES: Record<string, string> = {
  Scalar: "number | boolean",
  number: "number | boolean",
  int: "number",
  SymInt: "number",
  float: "number",
  bool: "boolean",
  str: "string",
  Device: "string",
  ScalarType: "DType",
  Layout: '"strided"',
  MemoryFormat: "MemoryFormat",
  Generator: "RandomGenerator",
};

/** Returns the TypeScript type of an argument and the expression that passes it to the addon. */
function argument(arg: SchemaArgument, value: string): { type: string; pass: string } {
  let schemaType = arg.type;
  const optional = schemaType.endsWith("?");
  if (optional) schemaType = schemaType.slice(0, -1);
  const list = /^(.*?)\[\d*\]$/.exec(schemaType)?.[1] ?? /^List\[(.*)\]$/.exec(schemaType)?.[1];
  let type: string;
  let pass = value;
  if (schemaType === "Tensor") {
    // `self` and optional tensors are tensors. Other operands may be numbers.
    const number = arg.name !== "self" && !optional;
    type = number ? "Tensor | number" : "Tensor";
    pass = number ? `operand(${value})` : optional ? `optionalHandle(${value})` : `handle(${value})`;
  } else if (list === "Tensor") {
    type = "readonly Tensor[]";
    pass = `handles(${value})`;
  } else if (list === "Tensor?") {
    type = "readonly (Tensor | null)[]";
    pass = `optionalHandles(${value})`;
  } else if (list !== undefined) {
    const element = SCALAR_TYPES[list];
    if (!element) throw new Error(`no TypeScript type for the schema type ${arg.type}`);
    type = `readonly ${element.includes("|") ? `(${element})` : element}[]`;
    if (arg.length > 0) type += ` | ${element}`;
  } else {
    type = SCALAR_TYPES[schemaType];
    if (!type) throw new Error(`no TypeScript type for the schema type ${arg.type}`);
    if (schemaType === "Generator") pass = `generatorId(${value})`;
  }
  return { type: optional ? `${type} | null` : type, pass };
}

/** Returns the TypeScript type of an operator's result, and the function that wraps it. */
function returned(schema: Schema): { type: string; wrap: (call: string) => string } {
  const { returns } = schema;
  if (returns.length === 0) return { type: "void", wrap: (call) => `${call};` };
  if (returns.length === 1) {
    const [{ type, argument: alias }] = returns;
    if (alias >= 0) return { type: "this", wrap: (call) => `${call};\n    return this;` };
    if (type === "Tensor") return { type: "Tensor", wrap: (call) => `return one(${call});` };
    if (/^(Tensor\[\]|List\[Tensor\])$/.test(type))
      return { type: "Tensor[]", wrap: (call) => `return many(${call});` };
    if (type === "bool") return { type: "boolean", wrap: (call) => `return ${call} as boolean;` };
    return { type: "number", wrap: (call) => `return ${call} as number;` };
  }
  if (returns.some(({ type }) => type !== "Tensor")) throw new Error(`${schema.name}: mixed returns`);
  const tuple = `[${returns.map(() => "Tensor").join(", ")}]`;
  return { type: tuple, wrap: (call) => `return many(${call}) as ${tuple};` };
}

function declare(schema: Schema, method: string, id: number): { isMethod: boolean; code: string } {
  const isMethod = schema.arguments[0]?.name === "self" && schema.arguments[0].type === "Tensor";
  const positional = schema.arguments.filter((arg, i) => !arg.keywordOnly && !(isMethod && i === 0));
  const keywords = schema.arguments.filter((arg) => arg.keywordOnly);
  const parameters = positional.map((arg, i) => {
    // TypeScript requires required parameters first, so a default before a required parameter is dropped.
    const optional = positional.slice(i).every((later) => later.hasDefault);
    return `${safe(arg.name)}${optional ? "?" : ""}: ${argument(arg, "").type}`;
  });
  if (keywords.length > 0) {
    const fields = keywords.map((arg) => `${arg.name}${arg.hasDefault ? "?" : ""}: ${argument(arg, "").type}`);
    const allOptional = keywords.every((arg) => arg.hasDefault);
    parameters.push(`options${allOptional ? "?" : ""}: { ${fields.join("; ")} }`);
  }
  const optionsOptional = keywords.every((arg) => arg.hasDefault);
  const passed = schema.arguments.map((arg, i) => {
    if (isMethod && i === 0) return "handle(this)";
    const value = arg.keywordOnly ? `options${optionsOptional ? "?." : "."}${arg.name}` : safe(arg.name);
    return argument(arg, value).pass;
  });
  const { type, wrap } = returned(schema);
  const call = `native.call(op, ${passed.join(", ")})`;
  const indent = isMethod ? "  " : "";
  const lines = [
    `/** \`${schema.text}\` */`,
    `${isMethod ? "" : "export function "}${method}(${parameters.join(", ")}): ${type} {`,
    `  const op = ids[${id}] ?? resolve(${id});`,
    `  ${wrap(call).replaceAll("\n    ", "\n  ")}`,
    "}",
  ];
  return { isMethod, code: lines.map((line) => line.replace(/^/gm, indent)).join("\n") };
}

const RESERVED = new Set(["default", "function", "in", "of", "new", "with"]);
const safe = (name: string) => (RESERVED.has(name) ? `${name}_` : name);

/** Returns the text of ops.generated.ts for the listed operators. */
export function generate(native: Native, opsText: string): string {
  const lines = opsText.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const table: string[] = [];
  const methods: string[] = [];
  const functions: string[] = [];
  lines.forEach((line, id) => {
    const { name, overload, method } = parseLine(line.trim());
    const schema = native.schema(native.resolve(name, overload));
    table.push(`  ["${name}", "${overload}", "${schema.arguments.map((arg) => arg.name).join(" ")}"],`);
    const { isMethod, code } = declare(schema, method, id);
    (isMethod ? methods : functions).push(code);
  });
  return `// Made by native/generate.ts from native/ops.txt; do not edit.

import type { DType } from "./dtype.js";
import { native, resolveOperator } from "./load.js";
import type { Handle } from "./native.js";
import type { RandomGenerator } from "./random.js";
import type { Tensor } from "./tensor.js";
import { generatorId, handle, handles, many, type MemoryFormat, one, operand, optionalHandle, optionalHandles } from "./wrap.js";

/** Operator, overload and the argument names this file passes, in order. */
const OPERATORS: readonly (readonly [name: string, overload: string, arguments: string])[] = [
${table.join("\n")}
];

const ids: (number | undefined)[] = new Array(OPERATORS.length);

function resolve(index: number): number {
  const id = resolveOperator(...OPERATORS[index]);
  ids[index] = id;
  return id;
}

/** The operators that are methods of a tensor. */
export abstract class Operators {
  /** @internal */
  abstract handle: Handle;

${methods.join("\n\n")}
}

${functions.join("\n\n")}
`;
}

if (process.argv[1]?.endsWith("generate.js")) {
  process.env.NUDGE_ADDON ??= resolve("build/nudge.node"); // the compiled versions of this file and of load.ts are in another folder
  writeFileSync("src/engine/ops.generated.ts", generate(loadNative(), readFileSync("native/ops.txt", "utf8")));
}
