/** What `nudge bench ops` prints. */

import type { OpsResult } from "../bench/ops.js";

/** The benchmark in words. */
export function opsText({ device, ours, peer }: OpsResult): string {
  const lines = [`a 4×4 add without gradients on ${device}, best of the rounds`, `  nudge    ${ours.toFixed(0)} ns`];
  if (peer) lines.push(`  python   ${peer.ns.toFixed(0)} ns   (${peer.title})`, `  ratio    ${peer.ratio.toFixed(2)}×`);
  return lines.join("\n");
}
