import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { Parameter } from "../nn/module.js";
import { liveTensors, memory } from "./device.js";
import { allOrNothing, keep, Scope, scope } from "./scope.js";
import { noGrad, type Tensor, tensor } from "./tensor.js";

/** Runs `body` and returns the number of tensors that remain. */
function left(body: () => void): number {
  const before = liveTensors();
  body();
  return liveTensors() - before;
}

test("a scope frees the tensors made in it, except those that it returns", () => {
  let inner: Tensor | undefined;
  const before = liveTensors();
  const result = scope(() => {
    inner = tensor([1, 2]);
    return inner.mul(2).add(1);
  });
  expect(liveTensors()).toBe(before + 1);
  expect(result.toNumbers()).toEqual([3, 5]);
  expect(inner?.isDisposed).toBe(true);
  expect(() => inner?.add(1)).toThrow("freed");
  result.dispose();
  expect(liveTensors()).toBe(before);
});

test("what an inner scope returns belongs to the outer one", () => {
  expect(
    left(() => {
      let handed: Tensor | undefined;
      scope(() => {
        handed = scope(() => scope(() => tensor([1])).add(1));
        expect(handed.item()).toBe(2);
      });
      expect(handed?.isDisposed).toBe(true);
    }),
  ).toBe(0);
});

test("tensors are found in arrays, maps, sets and plain objects, and not in instances of classes", () => {
  class Holder {
    held = tensor([1]);
  }
  const result = scope(() => ({
    array: [tensor([1]), [tensor([2])]],
    map: new Map([["a", { deep: tensor([3]) }]]),
    set: new Set([tensor([4])]),
    bare: Object.assign(Object.create(null), { x: tensor([5]) }) as { x: Tensor },
    holder: new Holder(),
    other: [1, "two", null, undefined],
  }));
  const [first, [second]] = result.array as [Tensor, Tensor[]];
  const found = [first, second, result.map.get("a")!.deep, ...result.set, result.bare.x];
  expect(found.map((x) => x.item())).toEqual([1, 2, 3, 4, 5]);
  expect(result.holder.held.isDisposed).toBe(true);
  for (const x of found) x.dispose();
});

test("a result that holds itself is no trouble", () => {
  const result = scope(() => {
    const round: { self?: unknown; x: Tensor } = { x: tensor([1]) };
    round.self = round;
    return round;
  });
  expect(result.x.isDisposed).toBe(false);
  result.x.dispose();
});

test("a tensor of an outer scope stays there when an inner one returns it", () => {
  scope(() => {
    const x = tensor([1]);
    expect(scope(() => x)).toBe(x);
    expect(x.isDisposed).toBe(false);
  });
});

test("an exception frees everything the scope made, and passes on", () => {
  const failure = new Error("in the middle");
  expect(
    left(() =>
      expect(() =>
        scope(() => {
          tensor([1]).add(1);
          scope(() => {
            tensor([2]).add(1);
            throw failure;
          });
        }),
      ).toThrow(failure),
    ),
  ).toBe(0);
});

test("after an exception the scope around is the current one again", () => {
  scope(() => {
    expect(() =>
      scope(() => {
        throw new Error("inner");
      }),
    ).toThrow("inner");
    const x = tensor([1]);
    expect(left(() => scope(() => x.add(1).item()))).toBe(0);
  });
});

test("a kept tensor outlives every scope, until dispose", () => {
  const before = liveTensors();
  const x = scope(() => {
    scope(() => tensor([0]).item());
    return { kept: scope(() => ({ hidden: () => keep(tensor([1])) })).hidden() };
  }).kept;
  expect(x.item()).toBe(1);
  x.dispose();
  expect(liveTensors()).toBe(before);
});

test("using frees a tensor and a scope at the end of their block", () => {
  expect(
    left(() => {
      using x = tensor([1]);
      using room = new Scope();
      room.run(() => x.add(1).mul(2));
      expect(x.item()).toBe(1);
    }),
  ).toBe(0);
});

test("a Scope holds tensors across awaits, entered with run for each synchronous part", async () => {
  const before = liveTensors();
  const room = new Scope();
  const x = room.run(() => tensor([1]).add(1));
  await new Promise((resolve) => setTimeout(resolve, 1));
  // Tensors that other code creates meanwhile do not belong to this scope.
  using other = tensor([5]);
  const y = room.run(() => x.mul(3));
  await Promise.resolve();
  expect(y.item()).toBe(6);
  room.dispose();
  expect([x.isDisposed, y.isDisposed, other.isDisposed]).toEqual([true, true, false]);
  expect(liveTensors()).toBe(before + 1);
  expect(() => room.run(() => 1)).toThrow("this scope has ended");
});

test("all or nothing: where the body throws, what it kept is freed too", () => {
  const before = liveTensors();
  const failing = () =>
    allOrNothing(() => {
      keep(tensor([1]));
      new Parameter(tensor([2]));
      scope(() => keep(tensor([3])));
      throw new Error("half-way");
    });
  expect(() => scope(failing)).toThrow("half-way");
  expect(failing).toThrow("half-way");
  expect(liveTensors()).toBe(before);
});

test("all or nothing: where it does not, what it made belongs to the scope around", () => {
  const before = liveTensors();
  const parameter = scope(() =>
    allOrNothing(() => {
      tensor([1]);
      return new Parameter(tensor([2]));
    }),
  );
  expect(liveTensors()).toBe(before + 1);
  expect(parameter.item()).toBe(2);
  parameter.dispose();
});

test("a scope that ends inside its own run frees also what was made after", () => {
  expect(
    left(() => {
      const room = new Scope();
      room.run(() => {
        tensor([1]);
        room.dispose();
        tensor([2]);
      });
    }),
  ).toBe(0);
});

test("an async body is refused, by scope and by what else ends when its body returns", async () => {
  const before = liveTensors();
  const body = async () => {
    const x = tensor([1]);
    await Promise.resolve();
    return x.add(1); // fails because x has been freed; the caller sees the error about the async body
  };
  expect(() => scope(body)).toThrow(UsageError);
  expect(() => scope(body)).toThrow("scope: the body is async, and scope ends when it returns. Use a Scope and run()");
  expect(() => noGrad(async () => 1)).toThrow("noGrad: the body is async");
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(liveTensors()).toBe(before);
});

test("a scope frees the memory, not only the count", () => {
  const before = memory().used;
  scope(() => {
    const x = tensor(new Float32Array(1_000_000));
    expect(memory().used - before).toBeGreaterThanOrEqual(4_000_000);
    x.add(1);
    expect(memory().used - before).toBeGreaterThanOrEqual(8_000_000);
  });
  expect(memory().used).toBe(before);
});

// --- Garbage collection, the last resort outside scopes

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Collects garbage until `done` returns true, and lets the finalizers run each time. */
async function collectUntil(done: () => boolean): Promise<void> {
  for (let i = 0; i < 50 && !done(); i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

test("tensors made outside any scope are freed by the garbage collector in the end", async () => {
  const before = liveTensors();
  (() => {
    for (let i = 0; i < 100; i++) tensor([i]).add(1);
  })();
  expect(liveTensors()).toBe(before + 200);
  await collectUntil(() => liveTensors() <= before + 2);
  expect(liveTensors()).toBeLessThanOrEqual(before + 2); // one reference may remain on the stack
});

test("the collector never frees a handle that has come to name another tensor", async () => {
  // The handles of a slot repeat after about five hundred uses: create tensors until one has the orphan's handle.
  const successor = (() => {
    const orphan = tensor([1]);
    const { handle } = orphan;
    orphan.dispose();
    for (let i = 0; i < 2000; i++) {
      const next = scope(() => keep(tensor([7])));
      if (next.handle === handle) return next;
      next.dispose();
    }
    throw new Error("the handle did not come round");
  })();
  await collectUntil(() => false);
  expect(successor.item()).toBe(7);
  successor.dispose();
});

test("a parameter made outside any scope lives on when the tensor it took over is collected", async () => {
  const parameters = Array.from({ length: 50 }, (_, i) => new Parameter(tensor([i])));
  await collectUntil(() => false);
  expect(parameters.map((x) => x.item())).toEqual(Array.from({ length: 50 }, (_, i) => i));
  for (const x of parameters) x.dispose();
});
