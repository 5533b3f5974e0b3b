#!/usr/bin/env node
/**
 * The `nudge` command. Node.js decodes pictures on a pool of four threads, and reads the size of the pool once, when it is first
 * used. An ES module is read by that pool, and so comes too late: this file is not one. On a machine with more cores it asks for a
 * thread for each, then starts nudge.mjs.
 */
const { availableParallelism } = require("node:os");

const cores = availableParallelism();
if (cores > 4) process.env.UV_THREADPOOL_SIZE ??= String(Math.min(cores, 128));

import("./nudge.mjs");
