import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { crc32c, EventFile } from "./event-file.js";

test("crc32c gives the check value of its definition and the vectors of RFC 3720", () => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
});

test("an event file has the bytes that the format asks for", () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-events-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "events.out.tfevents.0000000001.before"), "of an earlier process");
  const events = new EventFile(folder);
  events.add([
    { step: 300, model: "current", domain: "sketch", split: "in", metric: "accuracy", value: 0.5 },
    { step: 300, model: "swad", domain: null, split: null, metric: "loss", value: 2 },
  ]);
  const [name, ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  const bytes = readFileSync(join(folder, name));
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    expect(unmask(bytes.readUInt32LE(at + 8))).toBe(crc32c(bytes.subarray(at, at + 8)));
    const data = bytes.subarray(at + 12, at + 12 + length);
    expect(unmask(bytes.readUInt32LE(at + 12 + length))).toBe(crc32c(data));
    records.push(data);
    at += length + 16;
  }
  expect(records).toHaveLength(2);
  // wall_time, step 0, file_version
  expect(records[0].subarray(9).toString("latin1")).toBe("\x10\x00\x1a\x0dbrain.Event:2");
  // step 300, then a summary of two values, each a name and a float
  const value = (tag: string, float: string): string => {
    const body = `\x0a${String.fromCharCode(tag.length)}${tag}\x15${float}`;
    return `\x0a${String.fromCharCode(body.length)}${body}`;
  };
  const summary = value("accuracy/sketch/in", "\x00\x00\x00\x3f") + value("loss/swad", "\x00\x00\x00\x40");
  expect(records[1].subarray(9).toString("latin1")).toBe(
    `\x10\xac\x02\x2a${String.fromCharCode(summary.length)}${summary}`,
  );
});

/** Removes the mask of TFRecords, as their reader does. */
function unmask(value: number): number {
  const rotated = (value - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}
