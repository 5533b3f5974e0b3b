/**
 * Recognizes the format of a file by its first bytes and not by its name, so that a web page or a Git LFS pointer that
 * was saved as `model.pth` is reported as such.
 */
import type { SourceFile } from "../files/file-bytes.js";

export interface WeightsFormat {
  readonly format: "safetensors" | "pth-zip" | "pth-legacy" | "other";
  /** A description of the contents for error messages. */
  readonly look: string;
}

const HEAD_BYTES = 512;

/** Reads the first bytes of a file and identifies its format. */
export function identify(file: SourceFile): WeightsFormat {
  const head = file.read(0, Math.min(file.size, HEAD_BYTES), "the beginning");
  const begins = (bytes: string) => head.subarray(0, bytes.length).equals(Buffer.from(bytes, "latin1"));
  // A safetensors header has at most 100 MB, so the upper half of its length is zero. No other format here starts like
  // this.
  if (head.length > 8 && head.readUInt32LE(4) === 0 && head[8] === 0x7b) {
    return { format: "safetensors", look: "a safetensors file" };
  }
  if (begins("PK\x03\x04") || begins("PK\x05\x06")) return { format: "pth-zip", look: "a zip archive" };
  // Pickles of protocol 2 and later start with 0x80. One of protocol 1 starts with torch's magic number in decimal.
  if ((head[0] === 0x80 && head[1] <= 5) || begins("L119547037146038801333356L\n")) {
    return { format: "pth-legacy", look: "a Python pickle" };
  }
  return { format: "other", look: describe(head, begins) };
}

function describe(head: Buffer, begins: (bytes: string) => boolean): string {
  if (head.length === 0) return "an empty file";
  const text = head
    .toString("latin1")
    .replace(/^\xef\xbb\xbf/, "")
    .trimStart()
    .toLowerCase();
  if (/^<(!doctype|html|\?xml|head|body|!--)/.test(text)) {
    return "a web page (HTML): the download saved an error or login page; download the file itself";
  }
  if (text.startsWith("version https://git-lfs.github.com/")) {
    return "a Git LFS pointer, not the file it points to; fetch that with `git lfs pull`";
  }
  for (const [magic, look] of MAGIC) if (begins(magic)) return look;
  if (head.subarray(257, 262).toString("latin1") === "ustar") {
    return "a tar archive (PyTorch before 0.1.10 saved weights so; unpack it, or save them again)";
  }
  if (/^[{[]/.test(text)) return "JSON (perhaps the index of a model in several files; open one of those)";
  if (/^[\t\n\r\x20-\x7e]*$/.test(text)) return `text that begins ${JSON.stringify(text.slice(0, 40))}`;
  return `a file that begins with the bytes ${head
    .subarray(0, 8)
    .toString("hex")
    .replace(/(..)(?=.)/g, "$1 ")}`;
}

const MAGIC: readonly (readonly [string, string])[] = [
  ["\xff\xd8\xff", "a JPEG picture"],
  ["\x89PNG", "a PNG picture"],
  ["\x89HDF\r\n", "an HDF5 file (Keras?)"],
  ["GGUF", "a GGUF file (llama.cpp)"],
  ["\x93NUMPY", "a NumPy array"],
  ["\x1f\x8b", "a gzip archive; unpack it first"],
  ["\x28\xb5\x2f\xfd", "a zstd archive; unpack it first"],
  ["\xfd7zXZ", "an xz archive; unpack it first"],
  ["7z\xbc\xaf", "a 7z archive; unpack it first"],
];
