/**
 * The registry of what the define… functions returned: the kind of each definition, and the plug-in file it came from.
 * Settings, registries and the plug-in loader (`cli/plugins.ts`) use it without depending on each other.
 */

export type DefinitionKind =
  | "algorithm"
  | "regularizer"
  | "follower"
  | "dataset"
  | "backbone"
  | "launcher"
  | "optimizer"
  | "schedule";

/** The file of a plug-in, by name and content. Its location does not matter. */
export interface PluginFile {
  readonly file: string;
  /** SHA-256 of its bytes, in hexadecimal. */
  readonly sha256: string;
  /** The titles of its definitions by id, with which reports name them when the plug-in is not loaded. */
  readonly titles?: Readonly<Record<string, string>>;
  /** The files that it imports, and those that they import. They are no part of the ids of runs. */
  readonly imports?: readonly { readonly file: string; readonly sha256: string }[];
}

const kinds = new WeakMap<object, DefinitionKind>();
const files = new Map<string, PluginFile>();

const parts = new WeakMap<object, object>();

/**
 * Marks a definition; every define… function calls it. `from` is the source object, for definitions that hide parts of
 * it.
 */
export function declare<T extends object>(kind: DefinitionKind, definition: T, from: object = definition): T {
  kinds.set(definition, kind);
  parts.set(definition, from);
  return definition;
}

/** The complete source of a definition as text, including its functions. */
export const definitionText = (definition: object): string =>
  JSON.stringify(parts.get(definition) ?? definition, (_, value) =>
    typeof value === "function" ? String(value) : value,
  );

/** The kind of a value; undefined if no define… function returned it. */
export function kindOf(value: unknown): DefinitionKind | undefined {
  return (typeof value === "object" && value !== null) || typeof value === "function" ? kinds.get(value) : undefined;
}

const keyOf = (kind: DefinitionKind, id: string): string => `${kind} ${id}`;

/** Records that a definition came from a plug-in. */
export function cameFrom(file: PluginFile, kind: DefinitionKind, id: string): void {
  files.set(keyOf(kind, id), file);
}

/** The plug-in files of some definitions, once each, sorted by name. Built-in definitions have none. */
export function pluginFilesOf(used: readonly (readonly [kind: DefinitionKind, id: string])[]): PluginFile[] {
  const found = used.flatMap(([kind, id]) => files.get(keyOf(kind, id)) ?? []);
  return [...new Set(found)].sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** Whether a plug-in file of this name has been loaded. */
export const isPluginFileLoaded = (name: string): boolean => [...files.values()].some(({ file }) => file === name);

/** Whether a plug-in of this content has been loaded. */
export const isPluginLoaded = ({ sha256 }: PluginFile): boolean =>
  [...files.values()].some((file) => file.sha256 === sha256);
