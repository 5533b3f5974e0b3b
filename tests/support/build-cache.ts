/** Builds a picture cache in a process of its own: `build-cache.ts ROOT FOLDER`; prints how many pictures it decoded. */

import { buildCache } from "../../src/data/cache.js";
import { pictureFolder } from "./made-pictures.js";

const [root, folder] = process.argv.slice(-2);
const { added, bad } = await buildCache(pictureFolder(root), { folder });
process.stdout.write(JSON.stringify({ added, bad: bad.length }));
