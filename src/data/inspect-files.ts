/**
 * A look at every picture file of a dataset without decoding any: its header, its end, whether it is what its extension
 * says. A few small reads a file, so that ten thousand take about a second.
 */
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { PictureDataset } from "./dataset.js";
import type { ByteSource } from "./picture-header/tiff-tags.js";
import { formatOfName, type PictureHeader, readPictureHeader } from "./picture-header.js";

/** Where a picture stands in its dataset. */
export interface PicturePlace {
  /** The domain's and the class's place. */
  readonly domain: number;
  readonly label: number;
  /** The path, as the dataset has it. */
  readonly file: string;
}

/** One file that was looked at. */
export interface FileFacts extends PicturePlace {
  readonly bytes: number;
  readonly header?: PictureHeader;
  /** What is wrong with it, if anything. */
  readonly problem?: Problem;
  /** Equal for equal files; files of equal fingerprints are most likely equal. */
  readonly fingerprint: string;
}

/** What can be wrong with a file: it cannot be used, it is probably damaged, or it is not what it is called. */
export interface Problem {
  readonly kind: "unusable" | "truncated" | "misnamed";
  readonly what: string;
}

const window = 4096;

/** An open file as a source: the first bytes are read once, others when asked for. */
function fileSource(file: number, size: number): ByteSource & { readonly head: Uint8Array } {
  const read = (offset: number, length: number): Uint8Array => {
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
    let have = 0;
    while (have < bytes.length) {
      const got = readSync(file, bytes, have, bytes.length - have, offset + have);
      if (got === 0) break; // the file has become shorter meanwhile
      have += got;
    }
    return bytes.subarray(0, have);
  };
  const head = read(0, window);
  let near = { offset: 0, bytes: head };
  return {
    size,
    head,
    bytes(offset, length) {
      if (offset >= size || length <= 0) return head.subarray(0, 0);
      const end = Math.min(offset + length, size);
      if (offset < near.offset || end > near.offset + near.bytes.length)
        near = { offset, bytes: read(offset, Math.max(window, length)) };
      return near.bytes.subarray(offset - near.offset, end - near.offset);
    },
  };
}

function problemOf(file: string, header: PictureHeader): Problem | undefined {
  const promised = formatOfName(file);
  if (header.truncated)
    return {
      kind: "truncated",
      what: `truncated: a ${header.format} of ${header.width} × ${header.height} pixels without its end`,
    };
  if (promised && promised !== header.format)
    return { kind: "misnamed", what: `called ${promised}, but its content is ${header.format}` };
  return undefined;
}

/** Looks at one file. */
export function lookAt(path: string, place: PicturePlace): FileFacts {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const { size } = fstatSync(file);
    const source = fileSource(file, size);
    const reading = readPictureHeader(source);
    const tail = source.bytes(Math.max(0, size - 64), 64);
    const fingerprint = `${size}:${createHash("sha1").update(source.head).update(tail).digest("base64")}`;
    if ("problem" in reading)
      return { ...place, bytes: size, fingerprint, problem: { kind: "unusable", what: reading.problem } };
    const problem = problemOf(place.file, reading.header);
    return { ...place, bytes: size, fingerprint, header: reading.header, ...(problem && { problem }) };
  } catch (cause) {
    return {
      ...place,
      bytes: 0,
      fingerprint: `unread:${path}`,
      problem: { kind: "unusable", what: `cannot be read (${(cause as Error).message})` },
    };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Looks at every file of a dataset, in its order; `progress` receives the number of checked files. */
export async function lookAtFiles(dataset: PictureDataset, progress?: (done: number) => void): Promise<FileFacts[]> {
  const facts: FileFacts[] = [];
  for (const [d, { files, labels }] of dataset.domains.entries())
    for (const [i, file] of files.entries()) {
      facts.push(lookAt(resolve(dataset.root, file), { domain: d, label: labels[i], file }));
      if (facts.length % 512 === 0) {
        progress?.(facts.length);
        await new Promise(setImmediate); // so that an interrupt is heard
      }
    }
  return facts;
}
