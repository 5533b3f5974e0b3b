/**
 * Reads bytes of an untrusted file. Every read is checked against the size of the file, no length field alone causes an
 * allocation, and every failure is a `DataError` with the name of the file.
 */
import { closeSync, fstatSync, readSync } from "node:fs";
import { DataError } from "../errors.js";
import { openToRead } from "./open-file.js";

/** A regular file that is open for reading. */
export class SourceFile {
  #open = true;

  private constructor(
    readonly path: string,
    readonly fd: number,
    readonly size: number,
  ) {}

  /** Opens a regular file. Anything else (a missing file, a folder, a pipe that would block) is a `DataError`. */
  static open(path: string): SourceFile {
    let fd: number | undefined;
    try {
      fd = openToRead(path);
      return new SourceFile(path, fd, fstatSync(fd).size);
    } catch (cause) {
      if (fd !== undefined) closeSync(fd);
      if (cause instanceof DataError) throw cause;
      const { code, message } = cause as NodeJS.ErrnoException;
      throw new DataError(`${path}: could not be opened: ${code === "ENOENT" ? "there is no such file" : message}`, {
        cause,
      });
    }
  }

  /** Creates the error for this file. */
  error(message: string, options?: ErrorOptions): DataError {
    return new DataError(`${this.path}: ${message}`, options);
  }

  /**
   * Reads exactly `length` bytes at `offset` into a new buffer. `what` names them in the error if the file is too
   * short.
   */
  read(offset: number, length: number, what: string): Buffer {
    if (!(offset >= 0 && length >= 0 && length <= this.size - offset)) {
      throw this.error(`${what} should be ${length} bytes at byte ${offset}, but the file has ${this.size} bytes`);
    }
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const got = this.#readSome(bytes, filled, offset + filled);
      if (got === 0) throw this.error(`became shorter while ${what} was being read`);
      filled += got;
    }
    return bytes;
  }

  #readSome(bytes: Buffer, at: number, position: number): number {
    try {
      return readSync(this.fd, bytes, at, bytes.length - at, position);
    } catch (cause) {
      throw this.error(`could not be read: ${(cause as Error).message}`, { cause });
    }
  }

  /** Closes the file. A second call has no effect. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.fd);
  }
}

const WINDOW_BYTES = 1 << 16;
const LONGEST_LINE = 4096;

/** Reads a range of a file sequentially through a small window, so that memory does not depend on its size. */
export class ByteReader {
  #window: Buffer = Buffer.alloc(0);
  #cursor = 0;
  /** The file position after the window. */
  #next: number;

  constructor(
    readonly file: SourceFile,
    begin: number,
    readonly end: number,
    /** What is read, for errors: `the pickle`. */
    readonly what: string,
  ) {
    this.#next = begin;
  }

  /** The file position of the next byte. */
  get position(): number {
    return this.#next - (this.#window.length - this.#cursor);
  }

  get remaining(): number {
    return this.end - this.position;
  }

  /** The next byte. */
  byte(): number {
    if (this.#cursor === this.#window.length) this.#fill(1);
    return this.#window[this.#cursor++];
  }

  /** The next `length` bytes. The view is valid until the next call. */
  bytes(length: number): Buffer {
    if (this.#window.length - this.#cursor < length) this.#fill(length);
    this.#cursor += length;
    return this.#window.subarray(this.#cursor - length, this.#cursor);
  }

  /** The bytes up to the next newline, excluding it. */
  line(): string {
    const codes: number[] = [];
    for (let code = this.byte(); code !== 0x0a; code = this.byte()) {
      if (codes.length === LONGEST_LINE) {
        throw this.file.error(`${this.what} has a line of over ${LONGEST_LINE} bytes at byte ${this.position}`);
      }
      codes.push(code);
    }
    return Buffer.from(codes).toString("utf8");
  }

  #fill(atLeast: number): void {
    const { position } = this;
    if (atLeast > this.end - position) {
      throw this.file.error(
        `${this.what} is cut short: ${atLeast} more bytes are needed at byte ${position}, ${this.end - position} are left`,
      );
    }
    const length = Math.max(atLeast, Math.min(WINDOW_BYTES, this.end - position));
    this.#window = this.file.read(position, length, this.what);
    this.#cursor = 0;
    this.#next = position + length;
  }
}
