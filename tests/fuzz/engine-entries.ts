/** The engine's functions that are no operators, each to be called with whatever comes. */

import { CudaGraph } from "../../src/engine/cuda-graph.js";
import { memory, resetPeakMemory, setFlag, synchronize } from "../../src/engine/device.js";
import { call, schemas } from "../../src/engine/operator.js";
import { Random, RandomGenerator } from "../../src/engine/random.js";
import { keep, scope } from "../../src/engine/scope.js";
import { grad, Tensor, tensor, tensorFromFile } from "../../src/engine/tensor.js";

type Entry = (...args: never[]) => unknown;

/** A method of tensors, called on the first argument, which may be none. */
const method =
  (name: keyof Tensor) =>
  (self: Tensor, ...args: unknown[]): unknown =>
    (Tensor.prototype[name] as (...args: unknown[]) => unknown).apply(self, args);

/** A property of tensors, read or set on the first argument. */
const property =
  (name: keyof Tensor) =>
  (self: Tensor): unknown =>
    Reflect.get(Tensor.prototype, name, self);

const METHODS = (
  "sum mean variance max min norm where view reshape take to requiresGrad_ retainGrad backward share_ item data bytes " +
  "toNumbers toArray describe toString size dispose sharesMemoryWith"
).split(" ") as (keyof Tensor)[];

const PROPERTIES = "shape rows numel strides dtype device isChannelsLast isDisposed requiresGrad isLeaf grad".split(
  " ",
) as (keyof Tensor)[];

export const ENTRIES: Record<string, Entry> = {
  ...Object.fromEntries(METHODS.map((name) => [`Tensor.${String(name)}`, method(name)])),
  ...Object.fromEntries(PROPERTIES.map((name) => [`Tensor.${String(name)} (read)`, property(name)])),
  "Tensor.grad (set)": (self: Tensor, value: Tensor) => {
    self.grad = value;
  },
  tensor: (data: never, options: never) => tensor(data, options),
  "tensor of an array": (data: never, shape: never, dtype: never) => tensor([data, data], { shape, dtype }),
  "tensor of a typed array": (dtype: never, shape: never) => tensor(new Uint16Array(6), { shape, dtype }),
  "tensor of a detached array": (dtype: never, shape: never) => {
    const array = new Float32Array(6);
    structuredClone(array, { transfer: [array.buffer] });
    return tensor(array, { shape, dtype });
  },
  tensorFromFile: (offset: never, dtype: never, shape: never) => tensorFromFile(-1, offset, dtype, shape),
  grad: (outputs: never, inputs: never, options: never) => grad(outputs, inputs, options),
  "grad of tensors": (output: never, input: never, gradients: never) => grad([output], [input], { gradients }),
  keep: (value: Tensor) => keep(value).dispose(),
  scope: (value: never) => scope(() => value),
  call: (name: never, ...args: never[]) => call(name, ...args),
  "call of a known operator": (...args: never[]) => call("aten::index_put", ...args),
  schemas: (name: never) => schemas(name),
  RandomGenerator: (device: never, seed: never) => new RandomGenerator(device, seed).dispose(),
  "Random.normal_": (seed: never, purpose: never, target: never) => new Random(seed).for(purpose).normal_(target),
  "CudaGraph.capture": (device: never) => CudaGraph.capture(device, () => {}),
  memory: (device: never) => memory(device),
  resetPeakMemory: (device: never) => resetPeakMemory(device),
  synchronize: (device: never) => synchronize(device),
  setFlag: (flag: never, on: never) => setFlag(flag, on),
};
