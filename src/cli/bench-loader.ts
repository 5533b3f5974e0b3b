/** The text output of `nudge bench loader`. */
import type { LoaderBench } from "../bench/loader.js";

export function loaderText(result: LoaderBench): string {
  const { dataset, pictures, batch, device, threads, cold, cached, store, cache, peer } = result;
  const line = (title: string, rate: number, ratio: number | undefined): string =>
    `  ${title.padEnd(38)}${rate.toFixed(0).padStart(8)} per second${ratio === undefined ? "" : `${ratio.toFixed(2).padStart(8)}×`}`;
  const where = device === "cpu" ? `${threads} CPU threads` : device;
  const held = { memory: "in memory", file: "read from the cache file", decode: "decoded" }[store];
  const lines = [
    `Loading ${dataset} (${pictures} pictures) into augmented batches of ${batch}, ${where}, pictures per second, best round`,
    line("nudge, decoding each time", cold, peer?.coldRatio),
    line(`nudge, cached (${held})`, cached, peer?.cachedRatio),
  ];
  if (peer)
    lines.push(
      line(`DataLoader, ${peer.workers} workers`, peer.rate, 1),
      `  DataLoader uses torchvision, with ${peer.title}`,
    );
  if (cache.bytes > 0)
    lines.push(
      `  the cache (${(cache.bytes / 1e9).toFixed(2)} GB) was built and opened in ${cache.seconds.toFixed(1)} s`,
    );
  return lines.join("\n");
}
