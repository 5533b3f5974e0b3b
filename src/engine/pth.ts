/**
 * PyTorch's weight files (`.pth`, `.pt`), written by `torch.save` of a state dict: the zip format of torch 1.6 and
 * later, and the legacy format before it. Both contain a pickle that describes the tensors and their storages, and the
 * storages as raw bytes. A TorchScript program (`torch.jit.save`, as OpenAI publishes CLIP) is also such a zip file,
 * with its modules in the pickle; its code is ignored. The pickle is read without executing anything (pickle.ts,
 * torch-pickle.ts), and the bytes of the storages are not read here.
 */

import { ByteReader, type SourceFile } from "../files/file-bytes.js";
import { DTYPES } from "./dtype.js";
import { readPickle } from "./pickle.js";
import { type PickleValue, pickleTypeName } from "./pickle-values.js";
import {
  elementCount,
  openWeightsFile,
  quoted,
  type StoredTensor,
  type WeightsContents,
  type WeightsFile,
} from "./stored-tensor.js";
import { type PickledStorage, PickledTensor, ScriptModule, ScriptNamespace, TorchNamespace } from "./torch-pickle.js";
import { identify } from "./weights-format.js";
import { locateZipEntry, readZip } from "./zip.js";

/** The keys of a state dict within a checkpoint. DomainBed uses `model_dict`. */
const USUAL_KEYS = ["state_dict", "model_dict", "model"];

/** The first value in a file of the legacy format, as a pickled integer. */
const LEGACY_MAGIC = 0x1950a86a20f9469cfc6cn;
const LEGACY_PROTOCOL = 1001;

/**
 * With views a small file can describe more memory than any machine has (one element, expanded to billions), and each
 * view is read into its own memory. Tied weights share a storage two or three times, so this limit is far above any
 * real file.
 */
const mostBytes = (fileSize: number): number => 16 * fileSize + (256 << 20);

/** The value of `format` in the metadata of a TorchScript program. */
export const TORCHSCRIPT = "torchscript";

/** Opens a state dict that PyTorch saved, in either format. */
export function openPth(path: string): WeightsFile {
  return openWeightsFile(path, readPth);
}

/** Finds the tensors in an opened file. */
export function readPth(file: SourceFile): WeightsContents {
  const { format, look } = identify(file);
  if (format !== "pth-zip" && format !== "pth-legacy") {
    throw file.error(`expected a PyTorch state dict (.pth), found ${look}`);
  }
  const { root, locate, isScript } = format === "pth-zip" ? readZipFormat(file) : readLegacyFormat(file);
  const tensors = new Map<string, StoredTensor>();
  let bytes = 0;
  for (const [name, value] of findStateDict(file, root)) {
    if (!(value instanceof PickledTensor)) continue;
    if (typeof name !== "string") throw file.error(`a tensor's name is ${pickleTypeName(name)}, expected a text`);
    const tensor = locateTensor(file, name, value, locate);
    bytes += tensor.shape.reduce((count, size) => count * size, DTYPES[tensor.dtype].bytes);
    if (bytes > mostBytes(file.size)) {
      throw file.error(
        `up to tensor ${quoted(name)}, the tensors take ${bytes} bytes of memory, from a file of ${file.size} bytes: ` +
          "they repeat the same values; save clones of them",
      );
    }
    tensors.set(name, tensor);
  }
  const metadata: Record<string, string> = isScript ? { format: TORCHSCRIPT } : {};
  return { tensors, metadata: Object.freeze(metadata) };
}

interface PickledFile {
  readonly root: PickleValue;
  /** Whether the file is a TorchScript program, of which only the tensors are read. */
  readonly isScript?: boolean;
  /** Returns the file offset of a storage's bytes after checking that all of them exist. */
  readonly locate: (storage: PickledStorage) => number;
}

/** Reads `NAME/data.pkl`, `NAME/data/KEY` for each storage, and `NAME/byteorder` (torch 2.1 and later). */
function readZipFormat(file: SourceFile): PickledFile {
  const archive = readZip(file);
  const pickles = [...archive.entries.values()].filter(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickles.length !== 1) {
    throw file.error(
      `expected a zip archive that torch.save wrote; it has ${pickles.length} entries NAME/data.pkl, not 1`,
    );
  }
  const [pickle] = pickles;
  const folder = pickle.name.slice(0, -"data.pkl".length);
  const isScript = archive.entries.has(`${folder}constants.pkl`);
  const byteOrder = archive.entries.get(`${folder}byteorder`);
  if (byteOrder !== undefined) {
    const { offset, byteLength } = locateZipEntry(archive, byteOrder);
    const order = file.read(offset, Math.min(byteLength, 16), "the byte order").toString("latin1");
    if (order !== "little") throw file.error(`the tensors are stored ${quoted(order)}-endian; only "little" is read`);
  }

  const { offset, byteLength } = locateZipEntry(archive, pickle);
  const reader = new ByteReader(file, offset, offset + byteLength, `the pickle ${quoted(pickle.name)}`);
  const read = readPickle(reader, isScript ? new ScriptNamespace() : new TorchNamespace());
  const root = isScript ? stateDictOfScript(file, read) : read;
  // Cached for each storage, because several tensors may share one.
  const places = new Map<string, { offset: number; byteLength: number }>();
  const locate = (storage: PickledStorage): number => {
    const entry = archive.entries.get(`${folder}data/${storage.key}`);
    if (entry === undefined) throw file.error(`storage ${quoted(storage.key)} is not in the archive`);
    const place = places.get(storage.key) ?? locateZipEntry(archive, entry);
    places.set(storage.key, place);
    if (place.byteLength < storage.byteLength) {
      throw file.error(
        `storage ${quoted(storage.key)} has ${place.byteLength} bytes in the archive; ${storage.byteLength} are expected`,
      );
    }
    return place.offset;
  };
  return { root, locate, isScript };
}

/** No network is nested deeper. In a damaged file, a module may contain itself. */
const DEEPEST_MODULE = 64;
const MOST_MODULES = 100_000;

/** Returns the tensors of a TorchScript program with the names of `state_dict()`. The code is not read. */
function stateDictOfScript(file: SourceFile, root: PickleValue): PickleValue {
  if (!(root instanceof ScriptModule))
    throw file.error(`a TorchScript program without a module: ${pickleTypeName(root)}`);
  const state = new Map<PickleValue, PickleValue>();
  const open: { readonly module: ScriptModule; readonly prefix: string; readonly depth: number }[] = [
    { module: root, prefix: "", depth: 0 },
  ];
  let visited = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { module, prefix, depth } = next;
    if (depth > DEEPEST_MODULE || ++visited > MOST_MODULES)
      throw file.error("a TorchScript program whose modules are nested deeper than any network's; the file is damaged");
    for (const [name, value] of module.attributes) {
      if (value instanceof PickledTensor) state.set(prefix + name, value);
      else if (value instanceof ScriptModule)
        open.push({ module: value, prefix: `${prefix}${name}.`, depth: depth + 1 });
    }
  }
  return state;
}

/**
 * Reads five pickles (a magic number, a version, the writer's platform, the object, the keys of its storages), then for
 * each key the number of elements as a 64-bit integer, followed by the elements.
 */
function readLegacyFormat(file: SourceFile): PickledFile {
  const reader = new ByteReader(file, 0, file.size, "the pickle");
  const plain = new TorchNamespace();
  if (readPickle(reader, plain) !== LEGACY_MAGIC) {
    throw file.error("a Python pickle, but not one that torch.save wrote; save the weights with torch.save");
  }
  const protocol = readPickle(reader, plain);
  if (protocol !== LEGACY_PROTOCOL)
    throw file.error(`the file's version is not ${LEGACY_PROTOCOL}, the only one known`);
  const platform = readPickle(reader, plain);
  if (platform instanceof Map && platform.get("little_endian") === false) {
    throw file.error("the tensors are stored big-endian; only little-endian ones are read");
  }
  const namespace = new TorchNamespace();
  const root = readPickle(reader, namespace);
  const keys = readPickle(reader, plain);
  if (!Array.isArray(keys)) throw file.error(`the list of storages is ${pickleTypeName(keys)}, expected a list`);

  const offsets = new Map<string, number>();
  let at = reader.position;
  for (const key of keys) {
    const storage = typeof key === "string" ? namespace.storages.get(key) : undefined;
    if (storage === undefined || offsets.has(storage.key)) {
      throw file.error("the list of storages names one that no tensor uses, or one twice; the file is damaged");
    }
    const length = file.read(at, 8, `the length of storage ${quoted(storage.key)}`).readBigInt64LE();
    if (length !== BigInt(storage.length)) {
      throw file.error(`storage ${quoted(storage.key)} has ${length} elements; ${storage.length} are expected`);
    }
    offsets.set(storage.key, at + 8);
    at += 8 + storage.byteLength;
    if (at > file.size) {
      throw file.error(
        `storage ${quoted(storage.key)} ends at byte ${at}, but the file has ${file.size} bytes: is the download complete?`,
      );
    }
  }
  const locate = (storage: PickledStorage): number => {
    const offset = offsets.get(storage.key);
    if (offset === undefined) throw file.error(`storage ${quoted(storage.key)} is not in the file`);
    return offset;
  };
  return { root, locate };
}

/** Finds the state dict in a file: under one of the usual keys of a checkpoint, or the whole object. */
function findStateDict(file: SourceFile, root: PickleValue): Map<PickleValue, PickleValue> {
  if (!(root instanceof Map)) {
    throw file.error(`expected a dict of tensors, found ${pickleTypeName(root)}; save model.state_dict()`);
  }
  // Try the keys first, because checkpoints may also contain single tensors besides the state dict (the best accuracy,
  // the state of a generator).
  const named = USUAL_KEYS.filter((key) => holdsTensors(root.get(key)));
  if (named.length > 1) {
    throw file.error(`state dicts under ${named.map(quoted).join(" and ")}: save a file with one of them`);
  }
  const found = named.length === 1 ? root.get(named[0]) : root;
  if (found instanceof Map && holdsTensors(found)) return found;
  const keys = [...root.keys()]
    .slice(0, 10)
    .map((key) => (typeof key === "string" ? quoted(key) : pickleTypeName(key)));
  throw file.error(
    `no state dict: expected tensors at the top or under ${USUAL_KEYS.map(quoted).join(", ")}; ` +
      `found ${keys.length > 0 ? `the keys ${keys.join(", ")}` : "an empty dict"}`,
  );
}

function holdsTensors(value: PickleValue | undefined): boolean {
  if (!(value instanceof Map)) return false;
  for (const item of value.values()) if (item instanceof PickledTensor) return true;
  return false;
}

function locateTensor(
  file: SourceFile,
  name: string,
  tensor: PickledTensor,
  locate: PickledFile["locate"],
): StoredTensor {
  const { storage, dtype, shape, strides, elementOffset } = tensor;
  const count = isNumbers(shape) ? elementCount(shape) : undefined;
  if (!isNumbers(shape) || count === undefined) throw file.error(`tensor ${quoted(name)} has no valid shape`);
  if (!isNumbers(strides) || strides.length !== shape.length || !strides.every(isIndex)) {
    throw file.error(`tensor ${quoted(name)}: the strides must be ${shape.length} whole numbers from 0 up`);
  }
  if (typeof elementOffset !== "number" || !isIndex(elementOffset)) {
    throw file.error(`tensor ${quoted(name)}: the offset into its storage must be an integer of at least 0`);
  }
  const available = Math.floor(storage.byteLength / DTYPES[dtype].bytes);
  const last = shape.reduce((sum, size, i) => sum + (size - 1) * strides[i], elementOffset);
  if (count > 0 && !(last < available)) {
    throw file.error(
      `tensor ${quoted(name)}: shape [${shape}], strides [${strides}] and offset ${elementOffset} reach element ${last} ` +
        `of a storage of ${available}`,
    );
  }
  return {
    dtype,
    shape,
    ...(isContiguous(shape, strides) ? {} : { strides }),
    offset: locate(storage),
    byteLength: storage.byteLength,
    // An empty tensor may have any offset, because nothing is read.
    elementOffset: count > 0 ? elementOffset : 0,
  };
}

function isNumbers(values: readonly PickleValue[]): values is readonly number[] {
  return values.every((value) => typeof value === "number");
}

function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/**
 * Returns true if the elements are in row-major order without gaps. As in libtorch, a size of 1 may have any stride.
 */
function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  if (shape.includes(0)) return true;
  let expected = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 1 && strides[i] !== expected) return false;
    expected *= shape[i];
  }
  return true;
}
