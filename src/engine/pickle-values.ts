/** The values of a pickle that this reader supports: plain values, and objects that represent Python names. */

/** A Python tuple; lists are arrays. */
export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

/** A function or class that a pickle refers to by name. */
export class PickleGlobal {
  constructor(
    /** The Python name, such as `collections.OrderedDict`. */
    readonly name: string,
    /** Returns the result of calling it. Absent for plain values (`torch.float32`). */
    readonly call?: (args: readonly PickleValue[]) => PickleValue,
  ) {}
}

/** The result of calling a global, or the object of a persistent id. Callers extend this class. */
export abstract class PickleObject {
  /** The Python name for error messages. */
  abstract readonly typeName: string;

  /** Receives the attributes of the object. Absent for objects without attributes. */
  build?(attributes: Map<PickleValue, PickleValue>): void;
}

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | Map<PickleValue, PickleValue>
  | Set<PickleValue>
  | PickleTuple
  | PickleGlobal
  | PickleObject;

/**
 * The globals and persistent objects that a pickle may refer to. Both functions throw a `PickleFault` for other names.
 */
export interface PickleNamespace {
  /** Returns the global with this dotted name. */
  global(name: string): PickleGlobal;
  /** Returns the object with this persistent id. */
  persistent(id: PickleValue): PickleValue;
}

/** A problem of a pickle. `readPickle` converts it to a `DataError` with the file and the position. */
export class PickleFault extends Error {}

/** Returns the Python name of a value's type, for error messages. */
export function pickleTypeName(value: PickleValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "None";
  if (value instanceof PickleObject) return value.typeName;
  if (value instanceof PickleGlobal) return value.name;
  if (value instanceof PickleTuple) return "tuple";
  if (value instanceof Map) return "dict";
  if (value instanceof Set) return "set";
  if (value instanceof Uint8Array) return "bytes";
  if (Array.isArray(value)) return "list";
  return { boolean: "bool", number: "number", bigint: "int", string: "str" }[typeof value as "boolean"];
}
