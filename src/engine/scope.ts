/**
 * When tensors are freed. The garbage collector does not see their memory, so a scope frees what was made inside it:
 *
 *     const loss = scope(() => {
 *       const features = backbone.forward(x); // freed when the scope ends
 *       return crossEntropy(head.forward(features), y); // handed out
 *     });
 *
 * - What a scope returns (a tensor, or tensors in arrays, maps and plain objects) goes to the scope around it.
 * - `keep(tensor)` takes a tensor out of every scope; `tensor.dispose()` ends it. Parameters are kept.
 * - An exception frees everything the scope made, and passes on.
 * - A tensor that outlives its scope some other way is dead: using it is an error, never a crash.
 * - Outside any scope a tensor lives until `dispose()`, `using`, or, as a last resort, the garbage collector.
 * - A scope is synchronous. Around `await`, keep a `Scope` object and enter it with `run` for each synchronous part.
 */

import { UsageError } from "../errors.js";
import type { Tensor } from "./tensor.js";

let current: Scope | undefined;

// Only tensors made outside any scope are registered: registration costs more than a small operator.
const orphans = new FinalizationRegistry<() => void>((free) => free());

/** Called for every new tensor: puts it in the innermost scope, or leaves it to the garbage collector. */
export function track(tensor: Tensor): void {
  if (current) {
    current.tensors.push(tensor);
    return;
  }
  orphans.register(tensor, tensor.freeLater(), tensor);
  tensor.orphan = true;
}

/** Called when an orphan gives up its handle, which may come to name another tensor: the collector must not free that. */
export function untrack(tensor: Tensor): void {
  orphans.unregister(tensor);
  tensor.orphan = false;
}

/** Takes a tensor out of the scopes: it lives until `dispose()`. */
export function keep<T extends Tensor>(tensor: T): T {
  tensor.kept = true;
  return tensor;
}

/** A set of tensors with one end. `scope()` is the usual way to have one. */
export class Scope implements Disposable {
  /** @internal */
  tensors: Tensor[] = [];
  private ended = false;

  /** Runs `body` with this scope as the innermost one; what it makes is freed when this scope is disposed of. */
  run<T>(body: () => T): T {
    if (this.ended) throw new UsageError("this scope has ended: make another one");
    const outer = current;
    current = this;
    try {
      return body();
    } finally {
      current = outer;
      if (this.ended) this.dispose(); // it was ended from within: what came after is freed too
    }
  }

  /** Frees all that was made in this scope, except what is kept or in `result`, which goes to the scope around. */
  dispose(result?: unknown): void {
    this.ended = true;
    const { tensors } = this;
    this.tensors = [];
    const handedOut = new Set<Tensor>();
    collect(result, handedOut, 0);
    for (const tensor of tensors) {
      if (tensor.handle <= 0) continue;
      if (tensor.kept)
        current?.tensors.push(tensor); // for allOrNothing around
      else if (handedOut.has(tensor)) track(tensor);
      else tensor.dispose();
    }
  }

  /** Frees all that was made in this scope, kept or not: for work that failed half-way. */
  discard(): void {
    for (const tensor of this.tensors) if (tensor.handle > 0) tensor.dispose();
    this.tensors = [];
    this.ended = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** What `body` returned, unless it was a promise: what surrounds it ends before an async body does. */
export function refuseAsync<T>(what: string, result: T, instead = ""): T {
  if (!(result instanceof Promise)) return result;
  result.catch(() => {}); // it goes on outside and may fail there; the error below is the one to see
  throw new UsageError(`${what}: the body is async, and ${what} ends when it returns${instead}`);
}

/** Frees every tensor made in `body` except those it returns. */
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
 * Runs `body`, and frees everything it made if it throws, kept tensors too. Otherwise what it made belongs to the scope
 * around, as if it had been made there. For constructors: what they made before they failed has no owner.
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

/** Tensors in arrays, maps, sets and plain objects, to a depth no sane result exceeds. */
function collect(value: unknown, found: Set<Tensor>, depth: number): void {
  if (typeof value !== "object" || value === null || depth > 16) return;
  if ("handle" in value && "freeLater" in value) found.add(value as Tensor);
  else if (Array.isArray(value) || value instanceof Set) for (const item of value) collect(item, found, depth + 1);
  else if (value instanceof Map) for (const item of value.values()) collect(item, found, depth + 1);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
    for (const item of Object.values(value)) collect(item, found, depth + 1);
}
