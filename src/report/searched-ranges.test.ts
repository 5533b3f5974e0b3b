import { expect, test } from "vitest";
import { writeSearch } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

const reportOf = (settings: object): string =>
  inFolder((folder) => {
    writeSearch(folder, 3, settings);
    return toMarkdown(makeReport(readResults([folder])));
  });

test("a search in which a penalty has its own range says so in the table and in the comparison", () => {
  const text = reportOf({});
  expect(text).toContain(
    "Searched ranges differ: batchSize was drawn from int(2^U(5, 6)) in ERM-NU, and from int(2^U(3, 5.5)) in the other rows.",
  );
  expect(text).toContain(
    "- the search drew batchSize of ERM-NU from int(2^U(5, 6)) and of ERM from int(2^U(3, 5.5)), so the difference is not that of the method alone; a search with sharedSearch=true draws both from the same range",
  );
});

test.each([[{ sharedSearch: true }], [{ fixed: { batchSize: 32 } }]])(
  "with %o the ranges do not differ",
  (settings) => {
    expect(reportOf(settings)).not.toContain("Searched ranges");
    expect(reportOf(settings)).not.toContain("the search drew");
  },
);
