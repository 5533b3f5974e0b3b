/**
 * Reads the header of a picture without decoding it: format, size, colors, orientation, and whether its end is present.
 * Files are untrusted: for any bytes, the result is a header or a message, never an exception.
 */

import { readHeif } from "./picture-header/heif.js";
import { readJpeg } from "./picture-header/jpeg.js";
import { readPng } from "./picture-header/png.js";
import { readBmp, readGif, readNetpbm } from "./picture-header/simple.js";
import { readTiff } from "./picture-header/tiff.js";
import type { ByteSource } from "./picture-header/tiff-tags.js";
import { readWebp } from "./picture-header/webp.js";

export type PictureFormat = "JPEG" | "PNG" | "WebP" | "BMP" | "TIFF" | "GIF" | "PPM" | "PGM" | "AVIF" | "HEIC";

/** The basic facts of a picture. */
export interface PictureHeader {
  readonly format: PictureFormat;
  readonly width: number;
  readonly height: number;
  readonly colours: "grey" | "colour" | "CMYK" | "palette";
  readonly alpha: boolean;
  /** The number of bits per channel. */
  readonly bits: number;
  /** The EXIF orientation: 1 means as stored; the others ask for a rotation, which is applied to your own pictures. */
  readonly orientation: number;
  /** Whether the end of the picture is missing. */
  readonly truncated: boolean;
}

/** A header, or a message that describes the problem. */
export type HeaderReading = { readonly header: PictureHeader } | { readonly problem: string };

const ascii = (bytes: Uint8Array, from = 0, to = bytes.length): string =>
  String.fromCharCode(...bytes.subarray(from, to));

const readers: Readonly<Record<PictureFormat, (source: ByteSource) => HeaderReading>> = {
  JPEG: readJpeg,
  PNG: readPng,
  WebP: readWebp,
  BMP: readBmp,
  TIFF: readTiff,
  GIF: readGif,
  PPM: readNetpbm,
  PGM: readNetpbm,
  AVIF: readHeif("AVIF"),
  HEIC: readHeif("HEIC"),
};

/** The format of a picture by its first bytes; undefined if it is not known. */
export function formatOf(start: Uint8Array): PictureFormat | undefined {
  const text = ascii(start, 0, 16);
  if (text.startsWith("\xff\xd8\xff")) return "JPEG";
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "PNG";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "WebP";
  if (/^GIF8[79]a/.test(text)) return "GIF";
  if (/^(II[*+]\0|MM\0[*+])/.test(text)) return "TIFF";
  if (/^P[36][\s#]/.test(text)) return "PPM";
  if (/^P[25][\s#]/.test(text)) return "PGM";
  if (/^....ftyp(avif|avis)/s.test(text)) return "AVIF";
  if (/^....ftyp(hei[cxms]|hev|mif1|msf1)/s.test(text)) return brandsOf(start).includes("avif") ? "AVIF" : "HEIC";
  return text.startsWith("BM") && start.length > 13 ? "BMP" : undefined;
}

/** The compatible brands of a HEIF file. */
const brandsOf = (start: Uint8Array): string => ascii(start, 16, Math.min(start.length, start[3]));

/** The name of an unsupported picture format; undefined for other bytes. */
function unreadFormat(start: Uint8Array): string | undefined {
  const text = ascii(start, 0, 256);
  if (text.startsWith("\xff\x0a") || text.startsWith("\0\0\0\x0cJXL ")) return "JPEG XL";
  if (text.startsWith("\0\0\0\x0cjP  ")) return "JPEG 2000";
  return /^\s*(<\?xml[^>]*>\s*)?<svg/i.test(text) ? "SVG" : undefined;
}

/** Describes bytes that are not a picture. */
function guess(start: Uint8Array): string {
  const text = ascii(start, 0, 256);
  if (/^\s*(<!doctype html|<html|<head|<\?xml[^>]*>\s*<html)/i.test(text))
    return "an HTML page, as after a failed download";
  if (/^....ftyp/s.test(text)) return "a video";
  if (text.startsWith("%PDF")) return "a PDF";
  if (text.startsWith("PK\x03\x04")) return "a ZIP archive";
  if (text.startsWith("\x1f\x8b")) return "a gzip archive";
  if (text.startsWith("version https://git-lfs")) return "a Git LFS pointer; fetch the files with git lfs pull";
  if (/^P[14][\s#]/.test(text)) return "a PBM bitmap";
  if (start.every((byte) => byte === 0)) return "only zeros, as in a failed copy";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: text has none of these
  return /[\x00-\x08\x0e-\x1f\x80-\xff]/.test(text) ? "of an unknown format" : "text";
}

const promises: Readonly<Record<string, PictureFormat>> = {
  jpg: "JPEG",
  jpeg: "JPEG",
  png: "PNG",
  webp: "WebP",
  bmp: "BMP",
  tif: "TIFF",
  tiff: "TIFF",
  gif: "GIF",
  ppm: "PPM",
  pgm: "PGM",
  avif: "AVIF",
  heic: "HEIC",
  heif: "HEIC",
};

/** The format that the extension of a file indicates. */
export function formatOfName(name: string): PictureFormat | undefined {
  const extension = /\.([a-z]+)$/i.exec(name)?.[1].toLowerCase() ?? "";
  return Object.hasOwn(promises, extension) ? promises[extension] : undefined;
}

/** Reads the header of a picture. */
export function readPictureHeader(source: ByteSource): HeaderReading {
  if (source.size === 0) return { problem: "empty: it has no bytes" };
  const start = source.bytes(0, 256);
  const format = formatOf(start);
  const unread = format ? undefined : unreadFormat(start);
  if (unread) return { problem: `its format, ${unread}, is not supported: convert it to JPEG or PNG` };
  if (!format) return { problem: `not a picture: its content is ${guess(start)}` };
  const reading = readers[format](source);
  if ("problem" in reading) return reading;
  const { width, height } = reading.header;
  return width > 0 && height > 0 ? reading : { problem: `a ${format} of ${width} × ${height} pixels` };
}
