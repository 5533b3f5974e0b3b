/** The output of `nudge bench predict`. */

import type { PredictBench, PredictTimes } from "../bench/predict.js";

/** The benchmark as text: two lines from files, and two for the network alone. */
export function predictText(result: PredictBench): string {
  const { backbone, pictures, threads, repeats, fromFiles, network, difference, note } = result;
  const line = (title: string, { ms, medianMs, cpuMs }: PredictTimes, base: PredictTimes | undefined): string => {
    const ratio = base ? `${(base.cpuMs / cpuMs).toFixed(2)}×` : "";
    return `  ${title.padEnd(34)}${[ms, medianMs, cpuMs].map((value) => value.toFixed(2).padStart(9)).join("")}${ratio.padStart(9)}`;
  };
  const rows = ([title, { ours, onnxruntime }]: readonly [string, PredictBench["network"]]): string[] => [
    line(title, ours, onnxruntime),
    ...(onnxruntime ? [line("  onnxruntime, exported model", onnxruntime, onnxruntime)] : []),
  ];
  return [
    `Predicting ${pictures} pictures with ${backbone} on the CPU, ${threads} threads, ${repeats} rounds`,
    `  ${"milliseconds per picture".padEnd(34)}${["fastest", "median", "CPU"].map((head) => head.padStart(9)).join("")}`,
    ...rows(["from files", fromFiles]),
    ...rows(["the network alone", network]),
    ...(difference === undefined
      ? []
      : [`  logits differ from onnxruntime's by at most ${difference.toExponential(1)} of the largest`]),
    ...(note === undefined ? [] : [`  ${note}`]),
    ...(fromFiles.onnxruntime
      ? ["  The ratio is that of the processor time (CPU), which other work on the machine changes less."]
      : []),
  ].join("\n");
}
