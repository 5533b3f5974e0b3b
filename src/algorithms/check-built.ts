/**
 * Checks the return values of an algorithm's functions. TypeScript checks the built-in algorithms. A plug-in in
 * JavaScript has no compiler, and a missing value would fail deep in the training loop or, worse, train without the
 * requested penalty and without a message.
 */

import { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Module } from "../nn/index.js";
import type { AlgorithmDefinition, BuiltAlgorithm, StepOutcome } from "./algorithm.js";

type Named = Pick<AlgorithmDefinition, "title">;

const CONTRACT = "docs/recipes/add-an-algorithm.md has the contract";

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Throws an error if a part of the return value of `build` is missing. */
export function checkBuilt({ title }: Named, built: unknown): asserts built is BuiltAlgorithm {
  const refuse = (problem: string): never => {
    throw new UsageError(`algorithm ${title}: ${problem}; ${CONTRACT}`);
  };
  if (!isObject(built)) return refuse(`"build" returned ${kindOf(built)}, expected { modules, step, predict }`);
  const { modules, step, update, optimizers, predict } = built;
  if (!isObject(modules) || !Object.values(modules).every((each) => each instanceof Module))
    refuse(`"build" returned no "modules": all that has weights, by name, such as modules: { backbone, classifier }`);
  if ((typeof step === "function") === (typeof update === "function"))
    refuse(
      `"build" must return one of the functions "step" and "update", and returned ${typeof step === "function" ? "both" : "neither"}`,
    );
  if (update && (!isObject(optimizers) || Object.keys(optimizers).length === 0))
    refuse(`"update" needs "optimizers", by name, such as optimizers: { main: adam(parameters) }`);
  if (typeof predict !== "function") refuse(`"build" returned no function "predict", from samples to logits`);
}

/** Throws an error if the return value of `step` has no scalar loss or no features for the penalties. */
export function checkOutcome({ title }: Named, outcome: unknown): asserts outcome is StepOutcome {
  const refuse = (problem: string): never => {
    throw new UsageError(`algorithm ${title}: "step" returned ${problem}; ${CONTRACT}`);
  };
  if (!isObject(outcome) || outcome instanceof Tensor)
    return refuse(`${kindOf(outcome)}, expected { loss, features, logits }`);
  const { loss, features } = outcome;
  if (!(loss instanceof Tensor)) return refuse(`${kindOf(loss)} as its loss, expected a scalar tensor`);
  if (loss.shape.some((size) => size !== 1))
    refuse(`a loss of shape [${loss.shape.join(", ")}], expected a scalar: take its mean or its sum`);
  if (features === undefined)
    refuse(
      "no features: penalties are taken of them. Return those the loss was made of, or features: null where ctx.penalty was called",
    );
}

/** The number of backbone updates after which the algorithm must have used the penalty. */
const WITHOUT_PENALTY = 64;

/**
 * Throws an error if an algorithm does not use the penalties. Updates without a gradient for the backbone need none,
 * for example those of DANN's discriminator, or of a classifier that is trained first.
 */
export class PenaltyCheck {
  private isTaken = false;
  private without = 0;
  private penalties = "";

  constructor(private readonly algorithm: Named) {}

  /** Must be called when an update uses the penalties. */
  taken(): void {
    this.isTaken = true;
  }

  /**
   * Must be called after each update. `penalties` has the names of the requested penalties and is empty if there are
   * none.
   */
  afterUpdate(penalties: string, backbone: Module): void {
    if (this.isTaken || penalties === "" || !backbone.parameters().some(({ grad }) => grad !== null)) return;
    this.without++;
    this.penalties = penalties;
    if (this.without >= WITHOUT_PENALTY) this.atEnd();
  }

  /** Must be called at the end of a run, which may have fewer updates. */
  atEnd(): void {
    if (this.isTaken || this.without === 0) return;
    const updates = this.without === 1 ? "1 update" : `${this.without} updates`;
    throw new UsageError(
      `algorithm ${this.algorithm.title}: ${updates} of the backbone should have added the penalty ${this.penalties}, and none did; ` +
        "add ctx.penalty(features) to each loss that trains the backbone",
    );
  }
}

/** Calls a hook of an algorithm. A mistake in its code is reported with the names of the algorithm and of the hook. */
export function callHook<T>({ title }: Named, hook: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof TypeError || error instanceof ReferenceError) {
      const { message, stack } = error; // the text of the stack is made when it is first read
      error.message = `algorithm ${title}, in "${hook}": ${message}`;
      error.stack = stack?.replace(message, () => error.message);
    }
    throw error;
  }
}

function kindOf(value: unknown): string {
  if (value instanceof Tensor) return "a tensor";
  return value === undefined || value === null ? "nothing" : `a ${typeof value}`;
}
