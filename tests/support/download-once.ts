/** Downloads a file in a process of its own: `url`, `path`; prints what became of it. */

import { download } from "../../src/download/download.js";

const [url, path] = process.argv.slice(3);
const { already, sha256 } = await download({ url }, path);
process.stdout.write(JSON.stringify({ already, sha256 }));
