/**
 * Records the operators that a computation applies to its input, as they are passed from TypeScript to the addon.
 * Values that do not depend on the input are computed as usual and appear as constants.
 *
 * A recording covers one run of one branch. A computation that reads values of the input into JavaScript is rejected,
 * because its next operations may depend on them. An in-place operation gives a tensor a new value. Reading the old
 * value afterwards through another view of the same memory is rejected too.
 */

import { UsageError } from "../errors.js";
import type { DType } from "./dtype.js";
import { loadNative, withNative } from "./load.js";
import type { Handle, Native, Schema } from "./native.js";
import { keep } from "./scope.js";
import { noGrad, Tensor } from "./tensor.js";

/** A value in a recording: the input, an output of a call, or a constant. */
export interface RecordedTensor {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Present if the value does not depend on the input. It is freed with the recording. */
  readonly constant?: Tensor;
  /** The handle of the tensor that the constant came from. It identifies parameters. */
  readonly source?: Handle;
}

export interface RecordedCall {
  readonly schema: Schema;
  /** The arguments by the names in the schema; undefined if the default was used. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly outputs: readonly RecordedTensor[];
  /** The return value of `place` at that time. */
  readonly place: string;
}

export interface Recording extends Disposable {
  readonly input: RecordedTensor;
  readonly calls: readonly RecordedCall[];
  readonly outputs: Readonly<Record<string, RecordedTensor>>;
}

/** Shared by tensors that use the same memory. `version` counts the writes. */
interface Memory {
  version: number;
  captured: boolean;
}

interface Known {
  /** Undefined for a constant that no recorded call has used. */
  value?: RecordedTensor;
  readonly memory: Memory;
  version: number;
}

/** These operators return their input or a copy of it. */
const MAY_COPY = /^aten::(reshape|flatten|contiguous|to)\b/;

/**
 * Runs `body` and records its operations on `input`. `place` returns the position in the network for error messages.
 */
export function record(input: Tensor, body: () => Record<string, Tensor>, place: () => string): Recording {
  const addon = loadNative();
  const calls: RecordedCall[] = [];
  const constants: Tensor[] = [];
  const known = new Map<Handle, Known>();
  const schemas = new Map<number, Schema>();

  const fail = (what: string): never => {
    throw new UsageError(`recording a forward pass: ${what}, in ${place()}`);
  };
  const described = (handle: Handle): RecordedTensor => ({
    shape: addon.shape(handle),
    dtype: addon.dtype(handle) as DType,
  });
  const knownOf = (handle: Handle): Known => {
    const found = known.get(handle) ?? { memory: { version: 0, captured: false }, version: 0 };
    known.set(handle, found);
    return found;
  };
  const isRecorded = (handle: Handle): boolean => {
    const value = known.get(handle)?.value;
    return value !== undefined && value.constant === undefined;
  };
  /** Returns the value of an argument. A constant that is about to be overwritten is copied. */
  const recordedOf = (handle: Handle, operator: string, isWritten: boolean): RecordedTensor => {
    const own = knownOf(handle);
    if (own.version !== own.memory.version)
      fail(`${operator} reads a tensor whose memory was written in place through another view`);
    if (own.value && !isWritten) return own.value;
    if (own.value && !own.value.constant) return own.value;
    const copy = addon.resolve(isWritten ? "aten::clone" : "aten::detach", "");
    const constant = keep(new Tensor(addon.call(copy, handle) as Handle));
    constants.push(constant);
    const value = { ...described(handle), constant, source: handle };
    if (isWritten) return value;
    own.memory.captured = true;
    own.value = value;
    return value;
  };

  const call = (operator: number, ...args: unknown[]): unknown => {
    const schema = schemas.get(operator) ?? addon.schema(operator);
    schemas.set(operator, schema);
    const handles = schema.arguments.flatMap(({ type }, i) => handlesIn(type, args[i]));
    const written = new Set(schema.returns.map(({ argument }) => argument));
    const depends = handles.some(isRecorded);
    const values = depends
      ? schema.arguments.map(({ type }, i) =>
          withTensors(type, args[i], (handle) => recordedOf(handle, schema.name, written.has(i))),
        )
      : [];
    const result = addon.call(operator, ...args);
    if (depends && (schema.returns.length === 0 || schema.returns.some(({ type }) => !type.includes("Tensor"))))
      fail(`${schema.name} returns something other than tensors of its own`);
    const viewed =
      /\(Tensor\(a[^!]*\)/.test(schema.text) && handles.length > 0 ? knownOf(handles[0]).memory : undefined;
    const results = schema.returns.length === 1 && !Array.isArray(result) ? [result] : ((result ?? []) as unknown[]);
    const outputs = results.map((each, i): RecordedTensor | undefined => {
      const handle = each as Handle;
      if (typeof handle !== "number" || !schema.returns.some(({ type }) => type.includes("Tensor"))) return undefined;
      const value = depends ? described(handle) : undefined;
      const target = schema.returns[Math.min(i, schema.returns.length - 1)].argument;
      if (target >= 0) {
        const { memory } = knownOf(handle);
        if (memory.captured) fail(`${schema.name} writes over a constant that was used before`);
        known.set(handle, { value, memory, version: ++memory.version });
      } else {
        const isView = viewed && (!MAY_COPY.test(schema.name) || addon.address(handle) === addon.address(handles[0]));
        const memory = isView ? viewed : { version: 0, captured: false };
        known.set(handle, { value, memory, version: memory.version });
      }
      return value;
    });
    if (depends) {
      const named = Object.fromEntries(schema.arguments.map(({ name }, i) => [name, values[i]]));
      calls.push({ schema, arguments: named, outputs: outputs as RecordedTensor[], place: place() });
    }
    return result;
  };

  const reject = (what: string) => (): never => fail(what);
  const guardRead = <A extends unknown[], R>(read: (handle: Handle, ...rest: A) => R) => {
    return (handle: Handle, ...rest: A): R =>
      isRecorded(handle) ? fail("it reads numbers that depend on the input") : read(handle, ...rest);
  };
  const recorder: Native = {
    ...addon,
    call,
    free(handle) {
      known.delete(handle);
      addon.free(handle);
    },
    read: guardRead(addon.read),
    item: guardRead(addon.item),
    backward: reject("it takes gradients"),
    grad: reject("it takes gradients"),
    share: reject("it exchanges the memory of a tensor"),
  };

  const dispose = (): void => {
    for (const constant of constants) constant.dispose();
  };
  const first = { ...described(input.handle) };
  known.set(input.handle, { value: first, memory: { version: 0, captured: false }, version: 0 });
  try {
    const made = withNative(recorder, () => noGrad(body));
    const outputs = Object.entries(made).map(([name, tensor]) => [name, recordedOf(tensor.handle, "an output", false)]);
    return { input: first, calls, outputs: Object.fromEntries(outputs), [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Returns the handles in an argument. A number in an array of length one is an actual number. */
function handlesIn(type: string, argument: unknown): Handle[] {
  if (!type.includes("Tensor")) return [];
  if (typeof argument === "number") return [argument];
  if (!Array.isArray(argument) || isSingle(type)) return [];
  return argument.filter((each) => typeof each === "number");
}

function withTensors(type: string, argument: unknown, recordedOf: (handle: Handle) => RecordedTensor): unknown {
  if (!type.includes("Tensor")) return argument;
  if (typeof argument === "number") return recordedOf(argument);
  if (!Array.isArray(argument)) return argument;
  return isSingle(type) ? argument[0] : argument.map((each) => (typeof each === "number" ? recordedOf(each) : null));
}

const isSingle = (type: string): boolean => /^(Tensor|Optional\[Tensor\])\??$/.test(type);
