/** Translates a trace to an ONNX graph, call by call. */

import { CallSite } from "./call-site.js";
import { elementOf, OnnxGraph } from "./onnx-graph.js";
import { foldedNorms } from "./onnx-layer-operators.js";
import type { Port } from "./onnx-messages.js";
import { operators } from "./onnx-operators.js";
import type { Trace, TracedTensor } from "./trace.js";

/** Returns the graph. `names` maps handles to parameter names. An operator without a translation is an error. */
export function translate(
  { input, calls, outputs }: Trace,
  inputName: string,
  names: ReadonlyMap<number, string>,
): OnnxGraph {
  const graph = new OnnxGraph(inputName, names);
  graph.bind(input, inputName);
  const norms = foldedNorms(calls, Object.values(outputs));
  const folded = new Map([...norms].map(([norm, conv]) => [conv, norm]));
  for (const call of calls) {
    const site = new CallSite(graph, call, folded.get(call));
    const nodes = norms.has(call) ? () => site.in("input") : operators[call.operator];
    const values = [nodes ? nodes(site) : site.fail("the operator has no translation")].flat();
    for (const [i, value] of values.entries()) graph.bind(call.outputs[i], value);
  }
  for (const [name, value] of Object.entries(outputs)) graph.rename(graph.value(value), name);
  return graph;
}

/** An input or output of the file. */
export const port = (name: string, { dtype, shape }: TracedTensor): Port => ({
  name,
  element: elementOf(dtype),
  shape: shape.map((size) => {
    if (typeof size === "number") return size;
    return size.batch === 1 ? "batch" : `${size.batch} batch`;
  }),
});
