import { expect, test } from "vitest";
import { EngineError, UsageError } from "../errors.js";
import { liveTensors } from "./device.js";
import { call, schemas } from "./operator.js";
import { cat, matmul, zeros } from "./ops.generated.js";
import { keep, Scope, scope } from "./scope.js";
import { grad, noGrad, Tensor, tensor } from "./tensor.js";

test("numbers go in nested and come out nested", () => {
  const x = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect(x.shape).toEqual([2, 3]);
  expect(x.dtype).toBe("float32");
  expect(x.add(1).toArray()).toEqual([
    [2, 3, 4],
    [5, 6, 7],
  ]);
});
