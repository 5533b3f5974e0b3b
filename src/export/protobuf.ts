/**
 * Writes the part of the Protocol Buffers wire format that ONNX needs: varints, floats, strings, bytes and nested
 * messages (https://protobuf.dev/programming-guides/encoding).
 */

const VARINT = 0;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;

/** A message that is being built. Each field is a list of byte arrays. */
export class Message {
  private readonly pieces: Uint8Array[] = [];
  private size = 0;

  private push(...pieces: readonly Uint8Array[]): this {
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.size += piece.length;
    }
    return this;
  }

  private tag(field: number, wireType: number): Uint8Array {
    return varint(BigInt((field << 3) | wireType));
  }

  /** An integer (int32, int64, enum). Negative ones take ten bytes. */
  whole(field: number, value: number | bigint): this {
    return this.push(this.tag(field, VARINT), varint(BigInt.asUintN(64, BigInt(value))));
  }

  /** A 32-bit float. */
  float(field: number, value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    return this.push(this.tag(field, FIXED32), bytes);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, "utf8"));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.push(this.tag(field, LENGTH_DELIMITED), varint(BigInt(value.length)), value);
  }

  message(field: number, value: Message): this {
    return this.push(this.tag(field, LENGTH_DELIMITED), varint(BigInt(value.size)), ...value.pieces);
  }

  /** Integers in one packed field; nothing if there are none. */
  wholes(field: number, values: readonly (number | bigint)[]): this {
    if (values.length === 0) return this;
    return this.bytes(field, Buffer.concat(values.map((value) => varint(BigInt.asUintN(64, BigInt(value))))));
  }

  /** The bytes as a list of arrays that are not copied, because weights are large. */
  parts(): readonly Uint8Array[] {
    return this.pieces;
  }
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
