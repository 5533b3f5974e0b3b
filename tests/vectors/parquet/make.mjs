/**
 * Makes the parquet files of this folder with DuckDB, so that what is read was written by another program:
 *
 *     npm install --prefix /tmp/duck @duckdb/node-api && NODE_PATH=/tmp/duck/node_modules node make.mjs
 *
 * `hugging-face.parquet` has what `datasets` writes: a structure of bytes and path, class numbers, and their names in the
 * file's own description. Of its 8 pictures one is cut, one is a web page, one is missing. `many.parquet` has 4,100 rows in three
 * row groups, in zstd, with plain bytes and texts.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { crc32 } from "node:zlib";

const { DuckDBInstance } = createRequire(join(process.env.NODE_PATH ?? ".", "x.js"))("@duckdb/node-api");
const folder = dirname(fileURLToPath(import.meta.url));

/** A PNG of 4 × 3 pixels in one grey. @param {number} grey */
function png(grey) {
  const chunk = (/** @type {string} */ kind, /** @type {Buffer} */ data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.from([0, 0, 0, 4, 0, 0, 0, 3, 8, 0, 0, 0, 0]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: 3 }, () => Buffer.from([0, grey, grey, grey, grey]))));
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
}

const blob = (/** @type {Buffer} */ bytes) => `from_hex('${bytes.toString("hex")}')`;
const connection = await (await DuckDBInstance.create(":memory:")).connect();

const features = {
  image: { _type: "Image" },
  domain: { dtype: "string", _type: "Value" },
  label: { names: ["dog", "guitar"], _type: "ClassLabel" },
};
const rows = [
  [blob(png(10)), "pic_001.png", "art_painting", 0],
  [blob(png(20)), "pic_002.png", "art_painting", 1],
  [blob(png(30)), "pic_001.png", "photo", 0],
  [blob(png(40)), "pic_001.png", "photo", 0], // the same name again
  [blob(png(50).subarray(0, 40)), "cut.png", "photo", 1],
  [blob(Buffer.from("<!DOCTYPE html><p>not found")), "page.png", "photo", 1],
  ["NULL", "missing.png", "photo", 1],
  [blob(png(60)), "../../escape.png", "photo", 1],
];
const values = rows.map(([bytes, path, domain, label]) => `({'bytes': ${bytes}, 'path': '${path}'}, '${domain}', ${label}::BIGINT)`);
await connection.run(`COPY (SELECT * FROM (VALUES ${values.join(", ")}) AS t(image, domain, label)) TO '${folder}/hugging-face.parquet'
  (FORMAT parquet, COMPRESSION snappy, KV_METADATA {huggingface: '${JSON.stringify({ info: { features } })}'})`);
await connection.run(`COPY (SELECT ${blob(png(99))} AS picture, 'style ' || (i % 2) AS style, 'class ' || (i % 3) AS class FROM range(4100) AS t(i))
  TO '${folder}/many.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 2048)`);
