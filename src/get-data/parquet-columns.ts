/**
 * Finds the columns of a parquet file with the picture, its class and its domain: as named by the user, or detected
 * from Hugging Face's description of the columns (stored in the file), their types and their names.
 */
import { type FileMetaData, parquetSchema, type SchemaTree } from "hyparquet";
import { unknownName } from "../closest-name.js";
import { listNames } from "../data/show-name.js";
import { DataError, UsageError } from "../errors.js";

export interface ColumnNames {
  readonly image: string;
  readonly label: string;
  /** Absent if the pictures have no domains. */
  readonly domain?: string;
}

export interface PictureColumns extends ColumnNames {
  /** The names of the values of numeric columns, by column. */
  readonly valueNames: Readonly<Record<string, readonly string[]>>;
}

/** A column in Hugging Face's description. */
interface Feature {
  readonly _type?: string;
  readonly names?: readonly string[];
}

const LABELS = ["label", "labels", "class", "category", "target", "y", "fine_label", "class_name", "label_name"];
const DOMAINS = ["domain", "domains", "domain_name", "env", "environment", "style", "source", "location", "hospital"];
const IMAGES = ["image", "img", "picture", "photo", "x", "jpg", "png", "bytes"];

/** The columns of a file. `given` are those that the user named. */
export function pictureColumns(
  where: string,
  metadata: FileMetaData,
  given: Partial<ColumnNames> = {},
): PictureColumns {
  const columns = parquetSchema(metadata).children;
  const names = columns.map(({ element }) => element.name);
  const features = huggingFaceFeatures(metadata);
  for (const name of Object.values(given))
    if (!names.includes(name)) throw new UsageError(`${where}: ${unknownName("column", name, names)}`);
  const find = (wanted: readonly string[], fits: (name: string) => boolean): string | undefined => {
    const candidates = names.filter(fits);
    const byName = wanted.flatMap((name) => candidates.filter((each) => each.toLowerCase() === name));
    return byName[0] ?? (candidates.length === 1 ? candidates[0] : undefined);
  };
  const image =
    given.image ?? find(IMAGES, (name) => isPicture(columns[names.indexOf(name)], features[name])) ?? missing("image");
  const known = (wanted: readonly string[]) => (name: string) => name !== image && wanted.includes(name.toLowerCase());
  const domain = given.domain ?? find(DOMAINS, known(DOMAINS));
  const label =
    given.label ??
    find(LABELS, known(LABELS)) ??
    find([], (name) => name !== domain && features[name]?._type === "ClassLabel") ??
    missing("label");
  function missing(what: "image" | "label"): never {
    throw new DataError(
      `${where}: which column has the ${what === "image" ? "pictures" : "classes"}? Its columns are ${listNames(names, 20)}: say it with --${what}-column NAME`,
    );
  }
  const valueNames = Object.fromEntries(
    Object.entries(features).flatMap(([name, feature]) => (feature.names ? [[name, feature.names] as const] : [])),
  );
  return { image, label, ...(domain !== undefined && { domain }), valueNames };
}

/** Whether a column can contain pictures: bytes that are not text, alone or in a structure with their path. */
function isPicture({ element, children }: SchemaTree, feature?: Feature): boolean {
  if (feature?._type !== undefined) return feature._type === "Image";
  const isBytes = (each: SchemaTree["element"]): boolean =>
    each.type === "BYTE_ARRAY" && each.converted_type === undefined && each.logical_type === undefined;
  return isBytes(element) || children.some((child) => child.element.name === "bytes" && isBytes(child.element));
}

function huggingFaceFeatures({ key_value_metadata: pairs }: FileMetaData): Readonly<Record<string, Feature>> {
  const text = pairs?.find(({ key }) => key === "huggingface")?.value;
  try {
    const features = JSON.parse(text ?? "{}")?.info?.features as unknown;
    return typeof features === "object" && features !== null ? (features as Record<string, Feature>) : {};
  } catch {
    return {};
  }
}
