/**
 * The process that is fuzzed: makes the calls of operator-cases.ts and prints what came out. Before each it writes down
 * what it is about to do, so that whoever started it knows what a crash was.
 *
 *     node tests/support/run-typescript.mjs tests/fuzz/operator-fuzzer.ts LOG SEED FIRST COUNT
 */

import { openSync, writeSync } from "node:fs";
import { scope } from "../../src/engine/scope.js";
import { Tensor } from "../../src/engine/tensor.js";
import { EngineError, UsageError } from "../../src/errors.js";
import { makeCase } from "./operator-cases.js";

const [logPath, ...numbers] = process.argv.slice(-4);
const [seed, first, count] = numbers.map(Number);
const log = openSync(logPath, "w");
const LOG_BYTES = 4000;
/** The operands are small: what takes so long grows with a number that should have been refused. */
const SLOW_MS = 5000;

const outcome = { cases: 0, returned: 0, EngineError: 0, UsageError: 0, TypeError: 0 };
const unexpected: string[] = [];
const slow: string[] = [];

function note(text: string): void {
  writeSync(log, Buffer.from(text.padEnd(LOG_BYTES)).subarray(0, LOG_BYTES), 0, LOG_BYTES, 0);
}

function runCase(index: number): void {
  note(`case ${index}: being made`);
  const { title: call, run } = makeCase(seed, index);
  const title = `case ${index}: ${call}`;
  note(title);
  const start = performance.now();
  try {
    const result = run();
    outcome.returned++;
    use(result, title);
  } catch (error) {
    if (error instanceof EngineError) outcome.EngineError++;
    else if (error instanceof UsageError) outcome.UsageError++;
    else if (error instanceof TypeError) outcome.TypeError++;
    else unexpected.push(`${title}: ${error instanceof Error ? (error.stack ?? error) : String(error)}`);
  }
  const took = performance.now() - start;
  if (took > SLOW_MS) slow.push(`${Math.round(took)} ms: ${title}`);
}

/** Does with what came out what a program would: reads it, prints it, differentiates it. */
function use(result: unknown, title: string): void {
  for (const output of (Array.isArray(result) ? result : [result]).slice(0, 8)) {
    if (!(output instanceof Tensor) || output.isDisposed) continue;
    note(`${title} → ${output.describe()}, then its values`);
    if (output.numel > 1e7) continue; // a view of 2^40 elements takes days to read
    String(output);
    if (output.device === "meta") continue;
    if (!output.dtype.startsWith("complex")) output.data();
    if (!output.requiresGrad || output.isLeaf) continue;
    note(`${title} → ${output.describe()}, then backward`);
    output.backward({ gradient: output.onesLike() });
  }
}

for (let index = first; index < first + count; index++) {
  scope(() => runCase(index));
  outcome.cases++;
}
note("done");
console.log(JSON.stringify({ ...outcome, unexpected, slow }));
