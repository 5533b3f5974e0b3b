/** Reports: from runs on disk to tables, paired differences and verdicts, in several formats. */

export type { JudgedClaim, Verdict } from "../paper/claims.js";
export type { BestDraw, Chosen } from "./chosen.js";
export type { Coverage } from "./coverage.js";
export { toCsv } from "./csv.js";
export type { Equivalences, TestedEquivalence } from "./equivalence.js";
export { type NamedFigure, reportFigures } from "./figures.js";
export { toHtml } from "./html.js";
export type { Influence, InfluenceBin, InfluencePoint } from "./influence.js";
export { toJson } from "./json.js";
export { toLatex } from "./latex.js";
export { toMarkdown } from "./markdown.js";
export type { ModelList, UsableModel } from "./model-list.js";
export type { PairedComparison, PairedDifference } from "./paired.js";
export { type Results, readResults } from "./read-results.js";
export { makeReport, type Report, type ReportOptions, type ReportPart, reportParts } from "./report.js";
export { sweepWords } from "./sweep-progress.js";
export type { Table, TableCell, TableRow } from "./table.js";
export type { StudiedKind, StudiedSetting, WeightStudy } from "./weight-study.js";
export {
  type ReportFormat,
  reportFormats,
  reportText,
  writeDomainBedRuns,
  writeReport,
  writeReportFigures,
} from "./write-report.js";
