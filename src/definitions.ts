/**
 * What the define… functions made: of which kind a definition is, and which plug-in file it came from. Settings, registries and
 * the loader of plug-ins (`cli/plugins.ts`) all ask here, and none of them needs the others for it.
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

/** A plug-in's file, by name and content: the place it lies in does not matter. */
export interface PluginFile {
  readonly file: string;
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string;
}

const kinds = new WeakMap<object, DefinitionKind>();
const files = new Map<string, PluginFile>();

const parts = new WeakMap<object, object>();

/** Marks a definition; every define… function does. `from` is what it was made from, where the definition hides some of that. */
export function declare<T extends object>(kind: DefinitionKind, definition: T, from: object = definition): T {
  kinds.set(definition, kind);
  parts.set(definition, from);
  return definition;
}

/** All that a definition was made from as text, the source of its functions included. */
export const definitionText = (definition: object): string =>
  JSON.stringify(parts.get(definition) ?? definition, (_, value) =>
    typeof value === "function" ? String(value) : value,
  );

/** Of which kind a value is; undefined where no define… function made it. */
export function kindOf(value: unknown): DefinitionKind | undefined {
  return (typeof value === "object" && value !== null) || typeof value === "function" ? kinds.get(value) : undefined;
}

const keyOf = (kind: DefinitionKind, id: string): string => `${kind} ${id}`;

/** Remembers that a definition came from a plug-in. */
export function cameFrom(file: PluginFile, kind: DefinitionKind, id: string): void {
  files.set(keyOf(kind, id), file);
}

/** The plug-in files that some definitions came from, once each, by name; none for those of this program. */
export function pluginFilesOf(used: readonly (readonly [kind: DefinitionKind, id: string])[]): PluginFile[] {
  const found = used.flatMap(([kind, id]) => files.get(keyOf(kind, id)) ?? []);
  return [...new Set(found)].sort((a, b) => (a.file < b.file ? -1 : 1));
}

/** Whether a plug-in of this content has been loaded. */
export const isPluginLoaded = ({ sha256 }: PluginFile): boolean =>
  [...files.values()].some((file) => file.sha256 === sha256);
