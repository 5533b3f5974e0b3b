/** The output of the search for near-duplicates, which reads every picture once. */

import type { SignatureOptions } from "../data/picture-signatures.js";
import { countOf } from "../data/show-name.js";
import { roughly } from "../own-data/estimate.js";
import type { Reporter } from "../training/reporter.js";

/** Announces the time, reports the progress, and stops if asked. */
export const compareProgress = (
  reporter: Reporter,
  stop: { readonly asked: boolean } = { asked: false },
): SignatureOptions => ({
  announce: (seconds, total) =>
    reporter.line(
      `near-duplicates: comparing ${countOf(total, "picture")} (stored for the next time), about ${roughly(seconds)}, as measured just now`,
    ),
  progress: (done, total) => reporter.progress?.(`near-duplicates: ${done} of ${total} pictures compared`),
  shouldStop: () => stop.asked,
});
