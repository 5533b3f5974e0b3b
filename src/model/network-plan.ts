/**
 * The network of a loaded model as a plan for the CPU (native/src/network-plan.h). One forward pass is recorded; its convolutions,
 * norms, activations and residuals become the steps of the plan. Its numbers are those of the forward pass except for rounding, so
 * it is for predictions and not for records. A network with other operators has no plan.
 */

import { loadNative } from "../engine/load.js";
import type { Native } from "../engine/native.js";
import { empty } from "../engine/ops.generated.js";
import { type RecordedCall, type RecordedTensor, type Recording, record } from "../engine/recording.js";
import { keep, scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import { EngineError, UsageError } from "../errors.js";

/** What a step computes; the numbers are those of the addon. */
const KINDS = { conv: 0, pool: 1, mean: 2, scale: 3 } as const;
const ACTS = { clamp: 0, silu: 1, sigmoid: 2 } as const;

interface Step {
  readonly kind: keyof typeof KINDS;
  readonly from: number;
  /** The residual of a convolution, or the factors of a scale. */
  other?: number;
  weight?: Tensor;
  bias?: Tensor;
  readonly stride: number;
  readonly padding: number;
  readonly groups: number;
  readonly kernel: number;
  /** Undefined until an activation follows. */
  act?: { readonly kind: keyof typeof ACTS; readonly low: number; readonly high: number };
}

/** A step that stands for an operator, or undefined if it has none. */
type Translate = (call: RecordedCall, plan: Planner) => number | undefined;

const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;
const isTensor = (value: unknown): value is RecordedTensor =>
  typeof value === "object" && value !== null && !Array.isArray(value) && "shape" in value;

/** The one number that an argument has for both dimensions; undefined if there are two. */
function both(value: unknown, usual: number): number | undefined {
  const list = Array.isArray(value) ? value : [value ?? usual];
  return list.every((each) => each === list[0]) ? ((list[0] as number | undefined) ?? usual) : undefined;
}

/** Collects the steps. Value 0 is the input, and step i computes value i + 1. */
class Planner {
  readonly steps: Step[] = [];
  private readonly values = new Map<RecordedTensor, number>();
  private readonly uses = new Map<RecordedTensor, number>();

  constructor(recording: Recording) {
    this.values.set(recording.input, 0);
    const used = recording.calls.flatMap((call) => Object.values(call.arguments).flat().filter(isTensor));
    for (const each of [...used, ...Object.values(recording.outputs)])
      this.uses.set(each, (this.uses.get(each) ?? 0) + 1);
  }

  valueOf(tensor: unknown): number | undefined {
    return isTensor(tensor) ? this.values.get(tensor) : undefined;
  }

  add(step: Step): number {
    return this.steps.push(step);
  }

  set(tensor: RecordedTensor, value: number): void {
    this.values.set(tensor, value);
  }

  /** The convolution that computed a tensor which nothing else reads and to which nothing was applied yet. */
  openConv(tensor: unknown): Step | undefined {
    const value = this.valueOf(tensor);
    if (value === undefined || value === 0 || this.uses.get(tensor as RecordedTensor) !== 1) return undefined;
    const step = this.steps[value - 1];
    return step.kind === "conv" && step.act === undefined ? step : undefined;
  }
}

/** An activation becomes a part of the convolution before it. */
const act =
  (made: (call: RecordedCall) => NonNullable<Step["act"]> | undefined): Translate =>
  (call, plan) => {
    const [step, activation] = [plan.openConv(call.arguments.self), made(call)];
    if (!step || !activation) return undefined;
    step.act = activation;
    return plan.valueOf(call.arguments.self);
  };

const bound = (value: unknown, usual: number): number => (typeof value === "number" ? value : usual);

/** A view with the same numbers in the same order for every picture. */
const same: Translate = (call, plan) => {
  const { self, input = self } = call.arguments as { self?: RecordedTensor; input?: RecordedTensor };
  if (!isTensor(input)) return undefined;
  const [from, to] = [input.shape, call.outputs[0].shape];
  const keepsOrder = `${from}` === `${to}` || [from, to].every((shape) => shape.slice(2).every((side) => side === 1));
  const keepsType = call.outputs[0].dtype === input.dtype;
  return keepsOrder && keepsType && from[0] === to[0] && from[1] === to[1] ? plan.valueOf(input) : undefined;
};

/** Adds a convolution. `weight` is [outputs, inputs / groups, kernel, kernel]. */
function convolution(
  plan: Planner,
  from: number | undefined,
  {
    weight,
    bias,
    ...rest
  }: { weight: Tensor; bias: Tensor | undefined; stride: number; padding: number; groups: number },
): number | undefined {
  const [outputs, , kernel, width] = weight.shape;
  if (from === undefined || kernel !== width) return undefined;
  return plan.add({ kind: "conv", from, weight, bias: bias ?? empty([outputs]).zero_(), kernel, ...rest });
}

const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  conv2d({ arguments: { input, weight, bias, stride, padding, dilation, groups } }, plan) {
    const [by, around] = [both(stride, 1), both(padding, 0)];
    const [kernel, offset] = [weight as RecordedTensor, bias as RecordedTensor | undefined];
    if (!kernel.constant || (offset && !offset.constant) || by === undefined || typeof around !== "number")
      return undefined;
    if (both(dilation, 1) !== 1) return undefined;
    const constants = { weight: kernel.constant, bias: offset?.constant };
    return convolution(plan, plan.valueOf(input), {
      ...constants,
      stride: by,
      padding: around,
      groups: (groups as number | undefined) ?? 1,
    });
  },
  linear({ arguments: { input, weight, bias } }, plan) {
    const [kernel, offset] = [weight as RecordedTensor, bias as RecordedTensor | undefined];
    if (!kernel.constant || (offset && !offset.constant) || !isVector(input)) return undefined;
    const constants = { weight: kernel.constant.view(...kernel.shape, 1, 1), bias: offset?.constant };
    return convolution(plan, plan.valueOf(input), { ...constants, stride: 1, padding: 0, groups: 1 });
  },
  batch_norm({ arguments: { input, weight, bias, running_mean, running_var, training, eps } }, plan) {
    const step = plan.openConv(input);
    const values = [weight, bias, running_mean, running_var].map((each) => (each as RecordedTensor | null)?.constant);
    const [gain, offset, mean, variance] = values;
    if (!step || step.other !== undefined || training || !gain || !offset || !mean || !variance) return undefined;
    const scale = gain.mul(variance.add(eps as number).rsqrt());
    step.weight = step.weight!.mul(scale.view(-1, 1, 1, 1));
    step.bias = offset.add(step.bias!.sub(mean).mul(scale));
    return plan.valueOf(input);
  },
  relu: act(() => ({ kind: "clamp", low: 0, high: POSITIVE_INFINITY })),
  hardtanh: act(({ arguments: { min_val, max_val } }) => ({
    kind: "clamp",
    ...{ low: bound(min_val, -1), high: bound(max_val, 1) },
  })),
  silu: act(() => ({ kind: "silu", low: 0, high: 0 })),
  sigmoid: act(() => ({ kind: "sigmoid", low: 0, high: 0 })),
  /** A sum becomes the residual of the later one of two convolutions. */
  add({ arguments: { self, other, alpha }, outputs: [out] }, plan) {
    if (!isTensor(self) || !isTensor(other) || (alpha ?? 1) !== 1) return undefined;
    if (`${self.shape}` !== `${out.shape}` || `${other.shape}` !== `${out.shape}`) return undefined;
    const [later, earlier] = (plan.valueOf(self) ?? -1) > (plan.valueOf(other) ?? -1) ? [self, other] : [other, self];
    const [step, residual] = [plan.openConv(later), plan.valueOf(earlier)];
    if (!step || step.other !== undefined || residual === undefined || residual === 0) return undefined;
    step.other = residual;
    return plan.valueOf(later);
  },
  /** Channels are scaled by factors [n, channels, 1, 1]. */
  mul({ arguments: { self, other }, outputs: [out] }, plan) {
    if (!isTensor(self) || !isTensor(other)) return undefined;
    const [map, factors] = isVector(other) ? [self, other] : [other, self];
    const [from, by] = [plan.valueOf(map), plan.valueOf(factors)];
    if (!isVector(factors) || map.shape.length !== 4 || `${map.shape}` !== `${out.shape}`) return undefined;
    if (from === undefined || by === undefined || factors.shape.length !== 4) return undefined;
    return plan.add({ kind: "scale", from, other: by, stride: 1, padding: 0, groups: 1, kernel: 1 });
  },
  mean({ arguments: { self, dim }, outputs: [out] }, plan) {
    const from = plan.valueOf(self);
    if (from === undefined || `${[...((dim as number[]) ?? [])].sort()}` !== "2,3" || out.dtype !== "float32")
      return undefined;
    return plan.add({ kind: "mean", from, stride: 1, padding: 0, groups: 1, kernel: 1 });
  },
  max_pool2d({ arguments: { self, kernel_size, stride, padding, dilation, ceil_mode } }, plan) {
    const [from, kernel] = [plan.valueOf(self), both(kernel_size, 1)];
    const steps = Array.isArray(stride) && stride.length === 0 ? undefined : stride;
    const [by, around] = [both(steps, kernel ?? 1), both(padding, 0)];
    if (from === undefined || kernel === undefined || by === undefined || around === undefined) return undefined;
    if (both(dilation, 1) !== 1 || ceil_mode) return undefined;
    return plan.add({ kind: "pool", from, stride: by, padding: around, groups: 1, kernel });
  },
  ...Object.fromEntries(
    ["view", "reshape", "flatten", "contiguous", "to", "detach", "alias", "clone"].map((name) => [name, same]),
  ),
};

/** [n, channels], or [n, channels, 1, 1]. */
const isVector = (value: unknown): value is RecordedTensor =>
  isTensor(value) && value.shape.length >= 2 && value.shape.slice(2).every((side) => side === 1);

/** The vector units whose kernels are used. */
type Vectors = Parameters<Native["planNetwork"]>[3];

/** A plan in the addon. */
export class NetworkPlan implements Disposable {
  private constructor(
    private readonly plan: number,
    /** The names and widths of the outputs. */
    private readonly outputs: ReadonlyMap<string, number>,
  ) {}

  /** The plan of a network, or why there is none. `forward` returns vectors by name, for a batch [n, ...shape]. */
  static of(
    shape: readonly number[],
    forward: (x: Tensor) => Record<string, Tensor>,
    vectors?: Vectors,
  ): NetworkPlan | string {
    if (shape.length !== 3) return "its input is not a picture";
    try {
      return noGrad(() =>
        scope(() => {
          const x = empty([2, ...shape]).zero_();
          using recording = record(
            x,
            () => forward(x),
            () => "a prediction",
          );
          return NetworkPlan.from(recording, shape, vectors);
        }),
      );
    } catch (error) {
      // What cannot be recorded, and steps that the addon refuses.
      if (error instanceof UsageError || error instanceof EngineError) return error.message;
      throw error;
    }
  }

  private static from(recording: Recording, shape: readonly number[], vectors?: Vectors): NetworkPlan | string {
    const planner = new Planner(recording);
    for (const call of recording.calls) {
      const name = call.schema.name.replace(/^\w+::|\..*$/g, "").replace(/_$/, "");
      const value = Object.hasOwn(TRANSLATIONS, name) ? TRANSLATIONS[name](call, planner) : undefined;
      if (value === undefined || call.outputs.length !== 1) return `it uses ${call.schema.name}`;
      planner.set(call.outputs[0], value);
    }
    const outputs = Object.entries(recording.outputs);
    const places = outputs.map(([, tensor]) => planner.valueOf(tensor) ?? 0);
    if (places.includes(0) || outputs.some(([, { shape }]) => shape.length !== 2)) return "an output is not a vector";
    const plan = loadNative().planNetwork(shape, planner.steps.map(asNumbers), places, vectors);
    return new NetworkPlan(plan, new Map(outputs.map(([name, { shape }]) => [name, shape[1]])));
  }

  /** The outputs of a batch [n, channels, height, width], on this many other threads. The caller disposes of them. */
  async run(x: Tensor, threads: number): Promise<Record<string, Tensor>> {
    const names = [...this.outputs.keys()];
    const made = [...this.outputs.values()].map((width) => keep(empty([x.rows, width])));
    try {
      await loadNative().runPlan(this.plan, handle(x), made.map(handle), threads);
    } catch (error) {
      for (const each of made) each.dispose();
      throw error;
    }
    return Object.fromEntries(names.map((name, i) => [name, made[i]]));
  }

  [Symbol.dispose](): void {
    loadNative().freePlan(this.plan);
  }
}

/** A step as the addon takes it. */
function asNumbers({ kind, from, other = -1, weight, bias, stride, padding, groups, kernel, act }: Step): number[] {
  const { kind: activation, low, high } = act ?? { kind: "clamp", low: NEGATIVE_INFINITY, high: POSITIVE_INFINITY };
  const constants = [weight, bias].map((each) => (each ? handle(each) : -1));
  return [KINDS[kind], from, other, ...constants, stride, padding, groups, kernel, ACTS[activation], low, high];
}
