/** Counts tests in the report of vitest's json reporter. */

/** @typedef {{ status: string, assertionResults: { status: string }[] }} TestFile */
/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** A file that failed without a failed test (it did not load, or its set-up threw) counts as one failure.
 * @param {{ testResults: TestFile[] }} report @returns {Counts} */
export function countTests({ testResults }) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of testResults) {
    const results = file.assertionResults.map(({ status }) => status);
    for (const status of results) counts[status === "passed" || status === "failed" ? status : "skipped"]++;
    if (file.status === "failed" && !results.includes("failed")) counts.failed++;
  }
  return counts;
}

/** `12 passed, 0 failed`, with the number of skipped tests if there are any. @param {Counts} counts */
export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
