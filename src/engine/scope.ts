/**
 * Controls when tensors are freed. The garbage collector does not know how much memory they use, so a scope frees the
 * tensors that were created inside it:
 *
 *     const loss = scope(() => {
 *       const features = backbone.forward(x); // freed when the scope ends
 *       return crossEntropy(head.forward(features), y); // returned to the outer scope
 *     });
 *
 * - Tensors that a scope returns (directly, or in arrays, maps and plain objects) belong to the enclosing scope.
 * - `keep(tensor)` removes a tensor from all scopes until `tensor.dispose()`. Parameters are kept.
 * - If an exception is thrown, everything that the scope created is freed.
 * - Using a tensor after its scope has ended is an error, never a crash.
 * - Outside any scope, a tensor lives until `dispose()`, `using`, or garbage collection as a last resort.
 * - A scope is synchronous. Around `await`, use a `Scope` object and call `run` for each synchronous part.
 */

import { UsageError } from "../errors.js";
import type { Tensor } from "./tensor.js";

let current: Scope | undefined;

// Only tensors that are created outside any scope are registered, because that costs more than a small operator.
const orphans = new FinalizationRegistry<() => void>((free) => free());

/** Called for every new tensor. Adds it to the innermost scope, or leaves it to the garbage collector. */
export function track(tensor: Tensor): void {
  if (current) {
    current.tensors.push(tensor);
    return;
  }
  orphans.register(tensor, tensor.freeLater(), tensor);
  tensor.orphan = true;
}

/**
 * Called when a tensor outside any scope gives up its handle. The handle may be reused for another tensor, which the
 * garbage collector must not free.
 */
export function untrack(tensor: Tensor): void {
  orphans.unregister(tensor);
  tensor.orphan = false;
}

/** Removes a tensor from all scopes. It lives until `dispose()`. */
export function keep<T extends Tensor>(tensor: T): T {
  tensor.kept = true;
  return tensor;
}

/** A set of tensors that are freed together. Most code should call `scope()`. */
export class Scope implements Disposable {
  /** @internal */
  tensors: Tensor[] = [];
  private ended = false;

  /** Runs `body` with this scope as the innermost one. Tensors it creates are freed when this scope is disposed of. */
  run<T>(body: () => T): T {
    if (this.ended) throw new UsageError("this scope has ended: make another one");
    const outer = current;
    current = this;
    try {
      return body();
    } finally {
      current = outer;
      if (this.ended) this.dispose(); // it was ended inside `body`, so later tensors are freed too
    }
  }

  /**
   * Frees all tensors of this scope, except kept ones and those in `result`, which are moved to the enclosing scope.
   */
  dispose(result?: unknown): void {
    this.ended = true;
    const { tensors } = this;
    this.tensors = [];
    const returned = new Set<Tensor>();
    collect(result, returned, 0);
    for (const tensor of tensors) {
      if (tensor.handle <= 0) continue;
      if (tensor.kept)
        current?.tensors.push(tensor); // for an enclosing allOrNothing
      else if (returned.has(tensor)) track(tensor);
      else tensor.dispose();
    }
  }

  /** Frees all tensors of this scope, including kept ones, after a failure. */
  discard(): void {
    for (const tensor of this.tensors) if (tensor.handle > 0) tensor.dispose();
    this.tensors = [];
    this.ended = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * Returns the result of `body`. A promise is an error, because the enclosing construct ends before an async body does.
 */
export function refuseAsync<T>(what: string, result: T, instead = ""): T {
  if (!(result instanceof Promise)) return result;
  result.catch(() => {}); // it continues outside and may fail there, but the error below is the relevant one
  throw new UsageError(`${what}: the body is async, and ${what} ends when it returns${instead}`);
}

/** Frees every tensor created in `body` except those it returns. */
export function scope<T>(body: () => T): T {
  const inner = new Scope();
  let result: T | undefined;
  try {
    result = refuseAsync("scope", inner.run(body), ". Use a Scope and run() instead");
    return result;
  } finally {
    inner.dispose(result);
  }
}

/**
 * Runs `body`, and frees everything it created if it throws an error, including kept tensors. Otherwise its tensors
 * belong to the enclosing scope. This is for constructors: tensors created before a failure would have no owner.
 */
export function allOrNothing<T>(body: () => T): T {
  const inner = new Scope();
  try {
    const result = refuseAsync("allOrNothing", inner.run(body));
    for (const tensor of inner.tensors) if (tensor.handle > 0) track(tensor);
    return result;
  } catch (error) {
    inner.discard();
    throw error;
  }
}

/** Collects tensors in arrays, maps, sets and plain objects, up to a maximum depth. */
function collect(value: unknown, found: Set<Tensor>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > 16) return;
  if ("handle" in value && "freeLater" in value) found.add(value as Tensor);
  else if (Array.isArray(value) || value instanceof Set) for (const item of value) collect(item, found, depth + 1);
  else if (value instanceof Map) for (const item of value.values()) collect(item, found, depth + 1);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
    for (const item of Object.values(value)) collect(item, found, depth + 1);
}
