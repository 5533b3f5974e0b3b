/**
 * A strict parser for the JSON header of a safetensors file: a duplicate key is an error (`JSON.parse` would silently
 * drop one of the two), numbers must be integers of at least 0, and anything that the format does not define is
 * rejected.
 *
 * It parses exactly this structure and not general JSON, so that its depth and memory are bounded.
 */
import { MOST_DIMENSIONS, quoted } from "./stored-tensor.js";

/** One tensor as described in the header, before any checks. */
export interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The first byte and the byte after the last, relative to the end of the header. */
  readonly start: number;
  readonly end: number;
}

export interface Header {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: ReadonlyMap<string, HeaderEntry>;
}

/** A problem of a header and its position. The caller adds the file name. */
export class HeaderFault extends Error {}

/** Far more than any model has. It prevents a malicious header of 100 MB from filling the memory. */
const MOST_KEYS = 4_000_000;

/** Parses the text of a header. */
export function parseHeader(text: string): Header {
  const scanner = new Scanner(text);
  const metadata: Record<string, string> = Object.create(null);
  const entries = new Map<string, HeaderEntry>();
  scanner.object((name) => {
    if (name === "__metadata__") {
      scanner.object((key) => {
        metadata[key] = scanner.string();
      });
    } else {
      entries.set(name, readEntry(scanner));
    }
  });
  scanner.end();
  return { metadata: Object.freeze(metadata), entries };
}

function readEntry(scanner: Scanner): HeaderEntry {
  let dtype: string | undefined;
  let shape: number[] | undefined;
  let offsets: number[] | undefined;
  scanner.object((field) => {
    if (field === "dtype") dtype = scanner.string();
    else if (field === "shape") shape = scanner.integers(MOST_DIMENSIONS);
    else if (field === "data_offsets") offsets = scanner.integers(2);
    else throw scanner.fault("a tensor has only the fields dtype, shape and data_offsets");
  });
  if (dtype === undefined) throw scanner.fault('the field "dtype" is missing');
  if (shape === undefined) throw scanner.fault('the field "shape" is missing');
  if (offsets?.length !== 2) throw scanner.fault('the field "data_offsets" must be there and hold two numbers');
  return { dtype, shape, start: offsets[0], end: offsets[1] };
}

class Scanner {
  #at = 0;
  #keys = 0;
  /** The keys that lead to the current position, for error messages. */
  readonly #path: string[] = [];

  constructor(readonly text: string) {}

  fault(message: string): HeaderFault {
    const where = this.#path.length > 0 ? `${this.#path.map(quoted).join(".")}: ` : "";
    return new HeaderFault(`${where}${message} (character ${this.#at} of the header)`);
  }

  /** Reads `{…}`. `value` is called after each key and reads the value. */
  object(value: (key: string) => void): void {
    this.#expect("{", "an object");
    const seen = new Set<string>();
    if (this.#take("}")) return;
    do {
      this.#skipSpace();
      const key = this.string();
      this.#path.push(key);
      if (seen.has(key)) throw this.fault("this key appears twice");
      if (++this.#keys > MOST_KEYS) throw this.fault(`more than ${MOST_KEYS} keys`);
      seen.add(key);
      this.#expect(":", 'a ":"');
      value(key);
      this.#path.pop();
    } while (this.#take(","));
    this.#expect("}", 'a "," or "}"');
  }

  /** Reads `[…]` with at most `most` integers. */
  integers(most: number): number[] {
    this.#expect("[", "a list of whole numbers");
    const numbers: number[] = [];
    if (this.#take("]")) return numbers;
    do {
      if (numbers.length === most) throw this.fault(`more than ${most} numbers in this list`);
      numbers.push(this.#integer());
    } while (this.#take(","));
    this.#expect("]", 'a "," or "]"');
    return numbers;
  }

  #integer(): number {
    this.#skipSpace();
    // The expression is sticky and limited in length: a longer number is out of range anyway.
    const token = /[-+.\w]{1,40}/y;
    token.lastIndex = this.#at;
    const digits = token.exec(this.text)?.[0] ?? this.text.slice(this.#at, this.#at + 1);
    const value = /^(0|[1-9][0-9]*)$/.test(digits) ? Number(digits) : Number.NaN;
    if (!Number.isSafeInteger(value)) {
      throw this.fault(`expected an integer from 0 to 2^53 - 1, found ${quoted(digits)}`);
    }
    this.#at += digits.length;
    return value;
  }

  string(): string {
    this.#expect('"', "a string");
    const start = this.#at;
    let escaped = false;
    for (; ; this.#at++) {
      const code = this.text.charCodeAt(this.#at);
      if (code === 0x22) break;
      if (code === 0x5c) {
        escaped = true;
        this.#at++;
      } else if (!(code >= 0x20)) {
        throw this.fault(Number.isNaN(code) ? "a string does not end" : "a control character in a string");
      }
    }
    const raw = this.text.slice(start, this.#at++);
    return escaped ? this.#unescape(raw) : raw;
  }

  #unescape(raw: string): string {
    let value: unknown;
    try {
      value = JSON.parse(`"${raw}"`);
    } catch {
      throw this.fault(`an escape that JSON does not know in ${quoted(raw)}`);
    }
    // A lone surrogate cannot be encoded as UTF-8, so such a name could not be written again.
    if (typeof value !== "string" || /\p{Surrogate}/u.test(value))
      throw this.fault("half a surrogate pair in a string");
    return value;
  }

  /** Checks that only padding spaces remain. */
  end(): void {
    this.#skipSpace();
    if (this.#at < this.text.length) throw this.fault("text after the end of the header's object");
  }

  #take(character: string): boolean {
    this.#skipSpace();
    if (this.text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string, what: string): void {
    if (!this.#take(character)) throw this.fault(`expected ${what}, found ${this.#found()}`);
  }

  #found(): string {
    return this.#at < this.text.length ? quoted(this.text.slice(this.#at, this.#at + 10)) : "the end";
  }

  #skipSpace(): void {
    for (; this.#at < this.text.length; this.#at++) {
      const code = this.text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }
}
