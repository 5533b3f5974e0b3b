/** The values a pickle is made of, as far as they are read here: plain ones, and stand-ins for what a pickle names. */

/** A Python tuple; lists are arrays. */
export class PickleTuple {
  constructor(readonly items: readonly PickleValue[]) {}
}

/** A function or class that a pickle names, as far as the caller knows it. */
export class PickleGlobal {
  constructor(
    /** As Python spells it: `collections.OrderedDict`. */
    readonly name: string,
    /** What calling it gives; absent for what is only a value (`torch.float32`). */
    readonly call?: (args: readonly PickleValue[]) => PickleValue,
  ) {}
}

/** What a call of a global or a persistent id stands for; the caller extends it. */
export abstract class PickleObject {
  /** The Python name, for errors. */
  abstract readonly typeName: string;

  /** Takes the attributes that the pickle gives the object; absent for objects that have none. */
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

/** What a pickle may refer to outside of itself; both throw a `PickleFault` for what they refuse. */
export interface PickleWorld {
  /** The global of this dotted name. */
  global(name: string): PickleGlobal;
  /** The object of this persistent id. */
  persistent(id: PickleValue): PickleValue;
}

/** What is wrong with a pickle; `readPickle` makes it a `DataError` with the file and the place. */
export class PickleFault extends Error {}

/** A value's kind in Python's words, for errors. */
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
