/** The output of `nudge bench ops`. */

import type { OpsResult } from "../bench/ops.js";

/** The benchmark as text. */
export function opsText({ device, ours, peer }: OpsResult): string {
  const lines = [`Time of a 4×4 add without gradients on ${device}, best round`, `  nudge    ${ours.toFixed(0)} ns`];
  if (peer) lines.push(`  python   ${peer.ns.toFixed(0)} ns   (${peer.title})`, `  ratio    ${peer.ratio.toFixed(2)}×`);
  return lines.join("\n");
}
