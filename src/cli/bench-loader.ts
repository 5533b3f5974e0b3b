/** `nudge bench loader` in words. */
import type { LoaderBench } from "../bench/loader.js";

export function loaderText(result: LoaderBench): string {
  const { dataset, pictures, batch, device, threads, cold, cached, store, cache, peer, training } = result;
  const line = (title: string, rate: number, ratio: number | undefined): string =>
    `  ${title.padEnd(38)}${rate.toFixed(0).padStart(8)} a second${ratio === undefined ? "" : `${ratio.toFixed(2).padStart(8)}×`}`;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const held = { memory: "in memory", file: "read from the cache file", decode: "decoded" }[store];
  const lines = [
    `pictures from ${dataset} (${pictures}) to augmented batches of ${batch}, ${where}, best of the rounds`,
    line("nudge, decoding every time", cold, peer?.coldRatio),
    line(`nudge, cached (${held})`, cached, peer?.cachedRatio),
  ];
  if (peer)
    lines.push(
      line(`DataLoader, ${peer.workers} workers`, peer.rate, 1),
      `  the peer is torchvision, with ${peer.title}`,
    );
  if (cache.bytes > 0)
    lines.push(
      `  the cache, ${(cache.bytes / 1e9).toFixed(2)} GB, was made and opened in ${cache.seconds.toFixed(1)} s`,
    );
  if (training) {
    const { backbone, stepMs, waitMs, share } = training;
    lines.push(
      `  training ${backbone} on cached pictures: ${stepMs.toFixed(0)} ms a step, ${waitMs.toFixed(1)} ms of it waiting for data (${(share * 100).toFixed(1)} %)`,
    );
  }
  return lines.join("\n");
}
