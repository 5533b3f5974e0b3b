/**
 * Traces a forward pass for any batch size. It is recorded at two batch sizes, and every number that differs between
 * the recordings must be a multiple of the batch size. Calls whose results are not used are dropped.
 */

import { type RecordedCall, type RecordedTensor, type Recording, record } from "../engine/recording.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { BatchNorm, type Module } from "../nn/index.js";

/** A size of a dimension: a number, or a multiple of the batch size. */
export type Size = number | { readonly batch: number };

/** If the shape of a constant has a multiple of the batch size, its values are equal along that dimension. */
export type TracedTensor = Omit<RecordedTensor, "shape"> & { readonly shape: readonly Size[] };

export interface TracedCall {
  /**
   * The operator without namespace, overload and the underscore of in-place operators: `add` for `aten::add_.Tensor`.
   */
  readonly operator: string;
  /** The name in libtorch. */
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly outputs: readonly TracedTensor[];
  /** The layer that called it. */
  readonly place: string;
}

export interface Trace extends Disposable {
  readonly input: TracedTensor;
  readonly calls: readonly TracedCall[];
  readonly outputs: Readonly<Record<string, TracedTensor>>;
}

/** The two batch sizes that are compared. */
const SIZES = [2, 3] as const;

/** Traces `forward` on the inputs that `sample` creates, [n, …]. `modules` gives the names of the layers. */
export function trace(
  modules: Readonly<Record<string, Module>>,
  sample: (count: number) => Tensor,
  forward: (x: Tensor) => Record<string, Tensor>,
): Trace {
  const [one, two] = asLayers(modules, (place) =>
    SIZES.map((count) =>
      scope(() => {
        const x = sample(count);
        return record(x, () => forward(x), place);
      }),
    ),
  );
  const dispose = (): void => {
    for (const recording of [one, two]) recording[Symbol.dispose]();
  };
  try {
    return { ...noGrad(() => scope(() => merge(one, two))), [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/**
 * Runs `body` with the name of each layer known while it computes. Batch norms are not fused, because whether one is
 * fused with the convolution before it depends on the batch size.
 */
function asLayers<T>(modules: Readonly<Record<string, Module>>, body: (place: () => string) => T): T {
  const path: string[] = [];
  const undo: (() => void)[] = [];
  const all = new Map(
    Object.entries(modules).flatMap(([name, root]) => [...root.modules(name)].map(([n, m]) => [m, n])),
  );
  for (const [module, name] of all) {
    const layer = module as Module & { forward?: (...args: unknown[]) => unknown };
    const { forward } = layer;
    if (forward) {
      const own = Object.getOwnPropertyDescriptor(layer, "forward");
      layer.forward = (...args) => {
        path.push(name);
        const result = forward.apply(layer, args);
        path.pop();
        return result;
      };
      undo.push(() => (own ? Object.defineProperty(layer, "forward", own) : delete layer.forward));
    }
    if (module instanceof BatchNorm) {
      const { foldable } = module;
      module.foldable = false;
      undo.push(() => {
        module.foldable = foldable;
      });
    }
  }
  try {
    return body(() => path.at(-1) ?? "the prediction");
  } finally {
    for (const each of undo) each();
  }
}

/** Merges two recordings of the same computation. */
function merge(one: Recording, two: Recording): Omit<Trace, typeof Symbol.dispose> {
  const [calls, others] = [needed(one), needed(two)];
  const traced = new Map<RecordedTensor, TracedTensor>();
  const both = (a: unknown, b: unknown, where: string): unknown => {
    if (Array.isArray(a)) return a.map((each, i) => both(each, (b as unknown[])[i], where));
    if (isTensor(a)) return tensor(a, b as RecordedTensor, where);
    if (a === b) return a;
    const [times, other] = [Number(a) / SIZES[0], Number(b) / SIZES[1]];
    if (times === other && Number.isInteger(times)) return { batch: times };
    throw new UsageError(`${where} has ${a} for a batch of ${SIZES[0]} and ${b} for one of ${SIZES[1]}`);
  };
  const tensor = (a: RecordedTensor, b: RecordedTensor, where: string): TracedTensor => {
    const found = traced.get(a);
    if (found) return found;
    const made = { ...a, shape: both(a.shape, b.shape, where) as Size[] };
    if (a.constant && b.constant) checkConstant(a.constant, b.constant, made.shape, where);
    traced.set(a, made);
    return made;
  };
  const merged = calls.map((call, i): TracedCall => {
    const [{ name }, other] = [call.schema, others[i]];
    const where = `${name}, in ${call.place},`;
    if (name !== other?.schema.name)
      throw new UsageError(`the operators depend on the batch size: ${where} and ${other?.schema.name ?? "nothing"}`);
    return {
      operator: name.replace(/^\w+::|\..*$/g, "").replace(/_$/, ""),
      name,
      arguments: Object.fromEntries(
        Object.entries(call.arguments).map(([key, value]) => [key, both(value, other.arguments[key], where)]),
      ),
      outputs: call.outputs.map((output, j) => tensor(output, other.outputs[j], where)),
      place: call.place,
    };
  });
  const outputs = Object.entries(one.outputs).map(([name, value]) => [name, tensor(value, two.outputs[name], name)]);
  return {
    input: tensor(one.input, two.input, "the input"),
    calls: merged,
    outputs: Object.fromEntries(outputs) as Record<string, TracedTensor>,
  };
}

/** The calls that the outputs depend on. */
function needed({ calls, outputs }: Recording): RecordedCall[] {
  const wanted = new Set<unknown>(Object.values(outputs));
  const kept = calls.toReversed().filter((call) => {
    if (!call.outputs.some((output) => wanted.has(output))) return false;
    for (const argument of Object.values(call.arguments).flat()) if (isTensor(argument)) wanted.add(argument);
    return true;
  });
  return kept.reverse();
}

const isTensor = (value: unknown): value is RecordedTensor =>
  typeof value === "object" && value !== null && "dtype" in value;

/** A constant must be equal for both batch sizes, and constant along a dimension that grows with the batch. */
function checkConstant(one: Tensor, two: Tensor, shape: readonly Size[], where: string): void {
  const axis = shape.findIndex((size) => typeof size !== "number");
  if (axis < 0 && one.sharesMemoryWith(two)) return;
  const first = axis < 0 ? one : one.narrow(axis, 0, 1);
  const isSame = [one, two].every((each) => each.equal(first.expand(each.shape)));
  if (!isSame) throw new UsageError(`${where} takes numbers that are not the picture's and differ from pass to pass`);
}
