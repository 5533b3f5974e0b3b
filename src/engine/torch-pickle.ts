/**
 * The names that the pickle of a PyTorch state dict may use: tensors, parameters, storages, element types, and the
 * plain values that checkpoints contain besides them. The list follows `torch.load(weights_only=True)`
 * (torch/_weights_only_unpickler.py), without the kinds of tensors that this engine does not support, which are
 * rejected with a reason.
 *
 * No name executes code: each is a small function that records what the file contains, or a value.
 */
import { DTYPES, type DType } from "./dtype.js";
import {
  PickleFault,
  PickleGlobal,
  type PickleNamespace,
  PickleObject,
  PickleTuple,
  type PickleValue,
  pickleTypeName,
} from "./pickle-values.js";
import { quoted } from "./stored-tensor.js";

/** A block of bytes that tensors share, identified by its key in the file. */
export class PickledStorage extends PickleObject {
  readonly typeName = "torch.Storage";
  constructor(
    readonly key: string,
    /** The type of its elements. An untyped storage counts bytes. */
    readonly dtype: DType,
    /** The number of elements of that type. */
    readonly length: number,
  ) {
    super();
  }

  get byteLength(): number {
    return this.length * DTYPES[this.dtype].bytes;
  }
}

/** A tensor as described in the pickle. Sizes and strides have not been checked. */
export class PickledTensor extends PickleObject {
  readonly typeName = "torch.Tensor";
  constructor(
    readonly storage: PickledStorage,
    readonly dtype: DType,
    readonly elementOffset: PickleValue,
    readonly shape: readonly PickleValue[],
    readonly strides: readonly PickleValue[],
  ) {
    super();
  }
}

/** A value without weights (a device, a complex number), which is ignored. */
class Ignored extends PickleObject {
  constructor(readonly typeName: string) {
    super();
  }
}

/** A module of a TorchScript program: its attributes by name, including parameters and submodules. */
export class ScriptModule extends PickleObject {
  readonly attributes = new Map<string, PickleValue>();
  constructor(readonly typeName: string) {
    super();
  }

  override build(attributes: Map<PickleValue, PickleValue>): void {
    for (const [name, value] of attributes) if (typeof name === "string") this.attributes.set(name, value);
  }
}

/** An element type or a type of storage, as a value in a pickle. */
class TypeGlobal extends PickleGlobal {
  constructor(
    name: string,
    readonly dtype: DType,
    readonly isStorage: boolean,
  ) {
    super(name);
  }
}

const STORAGE_TYPES: Readonly<Record<string, DType>> = {
  DoubleStorage: "float64",
  FloatStorage: "float32",
  HalfStorage: "float16",
  BFloat16Storage: "bfloat16",
  LongStorage: "int64",
  IntStorage: "int32",
  ShortStorage: "int16",
  CharStorage: "int8",
  ByteStorage: "uint8",
  BoolStorage: "bool",
  ComplexFloatStorage: "complex64",
  UntypedStorage: "uint8",
};

type Call = (args: readonly PickleValue[]) => PickleValue;

const CALLS: Readonly<Record<string, Call>> = {
  "torch._utils._rebuild_tensor": (args) => rebuildTensor(args),
  "torch._utils._rebuild_tensor_v2": (args) => rebuildTensor(args, undefined, args[6]),
  "torch._utils._rebuild_tensor_v3": (args) => rebuildTensor(args, args[6], args[7]),
  "torch._utils._rebuild_parameter": ([data]) => tensorArgument(data),
  "torch._utils._rebuild_parameter_with_state": ([data]) => tensorArgument(data),
  "torch.nn.parameter.Parameter": ([data]) => tensorArgument(data),
  "torch._tensor._rebuild_from_type_v2": rebuildFromType,
  "torch.Size": ([sizes]) => sizes ?? new PickleTuple([]), // a size is a tuple
  "torch.device": () => new Ignored("torch.device"),
  "collections.Counter": () => new Ignored("collections.Counter"),
  "builtins.set": () => new Ignored("set"),
  "builtins.complex": () => new Ignored("complex"),
  "builtins.bytearray": () => new Ignored("bytearray"),
  "_codecs.encode": () => new Ignored("bytes"), // how protocol 2 writes bytes
};

const GLOBALS: ReadonlyMap<string, PickleGlobal> = new Map(
  [
    ...Object.entries(CALLS).map(([name, call]) => new PickleGlobal(name, call)),
    new PickleGlobal("torch.Tensor"), // only as the type argument of _rebuild_from_type_v2
    ...(Object.keys(DTYPES) as DType[]).map((dtype) => new TypeGlobal(`torch.${dtype}`, dtype, false)),
    ...Object.entries(STORAGE_TYPES).flatMap(([name, dtype]) =>
      ["torch", "torch.cuda", "torch.storage"].map((module) => new TypeGlobal(`${module}.${name}`, dtype, true)),
    ),
    new TypeGlobal("torch.storage._UntypedStorage", "uint8", true), // its name in torch 1.11 and 1.12
  ].map((global) => [global.name, global]),
);

/** The reasons for rejecting globals that torch itself reads. The first matching pattern applies. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^torch\.(.*\.)?(_rebuild_qtensor|QU?Int\d+(x\d+)?Storage)$/, "a quantized tensor; dequantize() it before saving"],
  [/^torch\..*(sparse|_get_layout)/, "a sparse tensor; make it dense with to_dense() before saving"],
  [/^torch\..*_rebuild_meta_tensor/, "a tensor on the meta device, which has no values"],
  [/^torch\..*Complex(Double|Half)Storage$/, "a complex tensor of a type that is not supported; save it as complex64"],
  [
    /^torch\..*_rebuild_(nested_tensor|wrapper_subclass|device_tensor)/,
    "a tensor of a special kind, not plain weights",
  ],
];

/**
 * An OrderedDict is copied from a list, and the same list may be used many times. This limits the total number of
 * items.
 */
const MOST_COPIED_ITEMS = 1_000_000;

/** The globals that the pickle of a state dict may refer to. Collects the storages by key. */
export class TorchNamespace implements PickleNamespace {
  readonly storages = new Map<string, PickledStorage>();
  #copied = 0;
  readonly #orderedDict = new PickleGlobal("collections.OrderedDict", (args) => this.#makeDict(args));

  global(name: string): PickleGlobal {
    // torch writes protocol 2, which uses the Python 2 name of the builtins module.
    const modern = name.replace(/^__builtin__\./, "builtins.");
    if (modern === this.#orderedDict.name) return this.#orderedDict;
    const known = GLOBALS.get(modern);
    if (known !== undefined) return known;
    const shown = quoted(modern).slice(1, -1);
    const reason = REASONS.find(([pattern]) => pattern.test(modern))?.[1];
    if (reason !== undefined) throw new PickleFault(`the file asks for ${shown}: ${reason}`);
    throw new PickleFault(
      `the file asks to run ${shown}; only tensors and plain values are read, and nothing is run. If you trust the file, ` +
        'open it in PyTorch and save the weights alone: torch.save(model.state_dict(), "weights.pth")',
    );
  }

  /** The id is `("storage", type, key, location, length)`, in the legacy format followed by a view of the storage. */
  persistent(id: PickleValue): PickledStorage {
    const [kind, type, key, location, length, view] = id instanceof PickleTuple ? id.items : [];
    if (kind !== "storage")
      throw new PickleFault(`the file has ${pickleTypeName(kind)} where a storage's id should be`);
    if (!(type instanceof TypeGlobal && type.isStorage)) {
      throw new PickleFault(`the file has ${pickleTypeName(type)} where the kind of a storage should be`);
    }
    if (typeof key !== "string") throw new PickleFault(`a storage's key is ${pickleTypeName(key)}, expected a text`);
    if (location === "meta") throw new PickleFault(`storage ${quoted(key)} is on the meta device, which has no values`);
    if (typeof length !== "number" || !isCount(length) || !isCount(length * DTYPES[type.dtype].bytes)) {
      throw new PickleFault(`storage ${quoted(key)} does not have a number of elements from 0 up`);
    }
    if (view !== undefined && view !== null) {
      throw new PickleFault(`storage ${quoted(key)} is a view of another, as PyTorch before 0.4 wrote; save it again`);
    }
    const storage = new PickledStorage(key, type.dtype, length);
    const before = this.storages.get(key);
    if (before === undefined) this.storages.set(key, storage);
    else if (before.byteLength !== storage.byteLength) {
      throw new PickleFault(
        `storage ${quoted(key)} has ${before.byteLength} bytes here and ${storage.byteLength} there`,
      );
    }
    return storage;
  }

  /** Python 3 fills an OrderedDict item by item. Python 2 passes a list of pairs to its constructor. */
  #makeDict([items]: readonly PickleValue[]): Map<PickleValue, PickleValue> {
    const dict = new Map<PickleValue, PickleValue>();
    if (items === undefined) return dict;
    if (!Array.isArray(items))
      throw new PickleFault(`an OrderedDict is made from ${pickleTypeName(items)}, not a list`);
    this.#copied += items.length;
    if (this.#copied > MOST_COPIED_ITEMS) throw new PickleFault("the OrderedDicts are larger than any state dict");
    for (const pair of items) {
      const [key, value, more] = pair instanceof PickleTuple ? pair.items : Array.isArray(pair) ? pair : [];
      if (key === undefined || value === undefined || more !== undefined) {
        throw new PickleFault("an OrderedDict is made from something else than pairs");
      }
      dict.set(key, value);
    }
    return dict;
  }
}

/** Additional globals for the pickle of a TorchScript program: its own modules, whose code is never read, and lists. */
export class ScriptNamespace extends TorchNamespace {
  override global(name: string): PickleGlobal {
    if (name.startsWith("__torch__.")) return new PickleGlobal(name, () => new ScriptModule(name));
    if (/^torch\.jit\._pickle\.build_(int|double|bool|tensor)list$/.test(name))
      return new PickleGlobal(name, () => new Ignored("list"));
    if (name === "torch.jit._pickle.restore_type_tag") return new PickleGlobal(name, ([value]) => value ?? null);
    return super.global(name);
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/**
 * The arguments are `(storage, offset, sizes, strides, requires_grad, hooks)`. Later versions add the dtype and marks.
 */
function rebuildTensor(args: readonly PickleValue[], type?: PickleValue, marks?: PickleValue): PickledTensor {
  const [storage, elementOffset, shape, strides] = args;
  if (!(storage instanceof PickledStorage)) {
    throw new PickleFault(`a tensor is made from ${pickleTypeName(storage)}, expected a storage`);
  }
  if (!(shape instanceof PickleTuple && strides instanceof PickleTuple)) {
    throw new PickleFault("a tensor's sizes and strides must be tuples; the file is damaged");
  }
  // Here torch marks complex tensors that have to be conjugated or negated when read. A plain copy would ignore that.
  if (marks instanceof Map && marks.size > 0) {
    throw new PickleFault(
      "a tensor is marked as conjugated or negated; call resolve_conj().resolve_neg() before saving",
    );
  }
  let { dtype } = storage;
  if (type !== undefined) {
    if (!(type instanceof TypeGlobal)) throw new PickleFault(`a tensor's type is ${pickleTypeName(type)}`);
    dtype = type.dtype;
  }
  return new PickledTensor(storage, dtype, elementOffset, shape.items, strides.items);
}

/** The arguments are `(function, class, arguments, attributes)`: a tensor with Python attributes, which are ignored. */
function rebuildFromType([rebuild, , args]: readonly PickleValue[]): PickledTensor {
  // Nested calls of this function are rejected, so that the file cannot control the call depth.
  if (!(rebuild instanceof PickleGlobal) || !rebuild.call || rebuild.call === rebuildFromType) {
    throw new PickleFault(`a tensor is made by ${pickleTypeName(rebuild)}, which makes none`);
  }
  if (!(args instanceof PickleTuple)) throw new PickleFault("a tensor is made without arguments; the file is damaged");
  return tensorArgument(rebuild.call(args.items));
}

function tensorArgument(value: PickleValue | undefined): PickledTensor {
  if (value instanceof PickledTensor) return value;
  throw new PickleFault(`the file has ${pickleTypeName(value)} where a tensor should be`);
}
