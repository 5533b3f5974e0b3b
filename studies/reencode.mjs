#!/usr/bin/env node
/**
 * Copies a folder of pictures (domain/class/picture) as JPEG files of quality 88, which is how the pictures of several kept studies were encoded: the PNG
 * files of PACS's sketches are too large to move. Accuracies can differ from those on the original files.
 *
 *     node studies/reencode.mjs data/PACS moved/PACS
 */
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import sharp from "sharp";

const QUALITY = 88;
const [from, to] = process.argv.slice(2);
if (!from || !to) {
  process.stderr.write("reencode: expected a folder of pictures and a folder to write, such as data/PACS moved/PACS\n");
  process.exit(2);
}
const files = readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const written = new Map();
for (const { name, parentPath } of files) {
  const source = join(parentPath, name);
  const target = join(to, source.slice(from.length).replace(/\.[^./]+$/, ".jpg"));
  if (written.has(target))
    throw new Error(`reencode: ${written.get(target)} and ${source} would both become ${target}`);
  written.set(target, source);
  mkdirSync(dirname(target), { recursive: true });
  await sharp(source).jpeg({ quality: QUALITY }).toFile(target);
}
process.stdout.write(`${files.length} pictures in ${to}, JPEG of quality ${QUALITY}\n`);
