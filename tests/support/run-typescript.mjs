// Runs a TypeScript file in this process: `node run-typescript.mjs file.ts [arguments]`. Tests start dozens of such processes,
// so what the compiler made of a file is kept (see typescript-hooks.mjs), and a start costs little more than plain Node's.
import { register } from "node:module";
import { pathToFileURL } from "node:url";

/** What the compiled code calls for `using`: holds values, and disposes of them in reverse when its block ends. */
function usingCtx() {
  /** @type {Disposable[]} */
  const held = [];
  const fine = Symbol();
  const context = {
    /** @type {unknown} the error that ended the block */
    e: fine,
    /** @template {Disposable | null | undefined} T @param {T} value */
    u(value) {
      if (value === null || value === undefined) return value;
      if (typeof value[Symbol.dispose] !== "function")
        throw new TypeError("using: the value has no [Symbol.dispose]()");
      held.push(value);
      return value;
    },
    d() {
      for (const value of held.reverse()) {
        try {
          value[Symbol.dispose]();
        } catch (error) {
          context.e = context.e === fine ? error : new AggregateError([error, context.e], "while disposing");
        }
      }
      if (context.e !== fine) throw context.e;
    },
  };
  return context;
}

Object.assign(globalThis, { babelHelpers: { usingCtx } });
register("./typescript-hooks.mjs", import.meta.url);
const [file] = process.argv.slice(2);
await import(pathToFileURL(file).href);
