/**
 * Camelyon17 in the layout of WILDS, as DomainBed uses it: patches of lymph nodes from five hospitals, with or without
 * tumor tissue.
 */
import { DataError } from "../../errors.js";
import { type TableRow, tableBenchmark } from "./table-benchmark.js";

/** Of hospitals 0 to 4. In WILDS, hospital 2 is the test set (85,054) and hospital 1 the validation set (34,904). */
const COUNTS = [59436, 34904, 85054, 129838, 146722];

export const camelyon17 = tableBenchmark({
  id: "camelyon17",
  title: "Camelyon17-WILDS",
  summary: "patches of 96 × 96 pixels of lymph node sections from five hospitals: tumour tissue in the middle, or none",
  paper:
    "Bándi et al., From Detection of Individual Metastases to Classification of Lymph Node Status at the Patient Level, IEEE TMI 2018; Koh et al., WILDS, ICML 2021, https://arxiv.org/abs/2012.07421",
  licence: "CC0 1.0, as WILDS states",
  source: "WILDS, https://wilds.stanford.edu, version 1.0 of camelyon17",
  layout: "camelyon17_v1.0/metadata.csv and patches/",
  entries: ["metadata.csv", "patches"],
  pictures: "patches",
  published: {
    domains: COUNTS.map((count, i) => ({ name: `hospital_${i}`, label: `hospital_${i}`, count })),
    classes: ["normal", "tumor"],
    total: 455954,
  },
  protocol: { steps: 5001, evaluateEvery: 100 },
  read(table) {
    const columns = ["patient", "node", "x_coord", "y_coord", "tumor", "center"];
    const { length, value } = table("metadata.csv", columns);
    return {
      rows: Array.from({ length }, (_, row): TableRow => {
        const [patient, node, x, y, tumor, center] = columns.map((column) => value(row, column));
        const slide = `patient_${patient}_node_${node}`;
        if (!/^[01]$/.test(tumor) || !/^[0-4]$/.test(center))
          throw new DataError(
            `dataset camelyon17, row ${row} of metadata.csv: expected a tumor of 0 or 1 and a center of 0 to 4, got "${tumor}" and "${center}"`,
          );
        return {
          domain: Number(center),
          label: Number(tumor),
          file: `patches/${slide}/patch_${slide}_x_${x}_y_${y}.png`,
        };
      }),
    };
  },
});
