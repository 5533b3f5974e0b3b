/**
 * Writes TensorBoard event files: TFRecords (length, CRC, data, CRC; tensorflow/core/lib/io/record_writer.h) of Event
 * messages (tensorflow/core/util/event.proto) in the wire format of protocol buffers. Only scalars are supported.
 */

import { readdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { appendWhole } from "../files/append-file.js";
import { makeFolder } from "../files/make-folder.js";
import type { RunRecord } from "../records/record.js";

/** The table for CRC-32C (Castagnoli), which processes one byte at a time. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc >>> 0;
});

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** TFRecords rotate a CRC and add a constant, which avoids problems with data that contains CRCs. */
const masked = (bytes: Uint8Array): number => {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
};

function framed(data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(BigInt(data.length));
  head.writeUInt32LE(masked(head.subarray(0, 8)), 8);
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(masked(data));
  return Buffer.concat([head, data, tail]);
}

/** The field types of the wire format. */
const [VARINT, FIXED_64, BYTES, FIXED_32] = [0, 1, 2, 5];

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

const tag = (field: number, kind: number): Buffer => Buffer.from(varint(field * 8 + kind));
const integer = (field: number, value: number): Buffer =>
  Buffer.concat([tag(field, VARINT), Buffer.from(varint(value))]);
const message = (field: number, body: Buffer): Buffer =>
  Buffer.concat([tag(field, BYTES), Buffer.from(varint(body.length)), body]);

function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}

function float(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([tag(field, FIXED_32), bytes]);
}

/**
 * Returns a name such as `accuracy/sketch/in` or `loss`; for a model other than the trained one
 * `accuracy/sketch/in/swad`.
 */
export function scalarName({ metric, domain, split, model }: RunRecord): string {
  return [metric, domain, split, model === "current" ? null : model].filter((word) => word !== null).join("/");
}

/** The event file of a run. TensorBoard can read it while it is written. */
export class EventFile {
  private readonly path: string;

  /** Starts a new file in a folder. A resumed run writes all its events again, so old files would duplicate them. */
  constructor(folder: string) {
    makeFolder(folder);
    for (const name of readdirSync(folder))
      if (name.startsWith("events.out.tfevents.")) rmSync(join(folder, name), { recursive: true, force: true });
    const seconds = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
    this.path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}.0`);
    this.event(0, message(3, Buffer.from("brain.Event:2")));
  }

  /** Adds rows, with one event per step. */
  add(rows: readonly RunRecord[]): void {
    for (const step of new Set(rows.map((row) => row.step))) {
      const values = rows
        .filter((row) => row.step === step)
        .map((row) => message(1, Buffer.concat([message(1, Buffer.from(scalarName(row))), float(2, row.value)])));
      this.event(step, message(5, Buffer.concat(values)));
    }
  }

  private event(step: number, body: Buffer): void {
    const data = Buffer.concat([double(1, Date.now() / 1000), integer(2, step), body]);
    appendWhole(this.path, framed(data), { what: "an event" });
  }
}
